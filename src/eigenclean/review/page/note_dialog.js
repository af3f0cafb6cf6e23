// The dialog for a note about a suspect.
import { byId } from "./dom.js";

export class NoteDialog {
  constructor() {
    this.dialog = byId("note-dialog");
    this.input = byId("note-input");
    byId("note-form").addEventListener("submit", (event) => { event.preventDefault(); this.#end(this.input.value.trim()); });
    byId("note-cancel").addEventListener("click", () => this.#end(null));
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.#end(this.input.value.trim()); }
    });
    this.dialog.addEventListener("close", () => { if (!this.dialog.open) this.#end(null); });
  }

  // Resolves to the text, which may be empty, or to null when nothing is to be changed.
  ask(note) {
    this.answered?.(null);
    this.input.value = note;
    this.dialog.showModal();
    this.input.focus();
    return new Promise((resolve) => { this.answered = resolve; });
  }

  #end(note) {
    const { answered } = this;
    this.answered = null;
    if (this.dialog.open) this.dialog.close();
    answered?.(note);
  }
}
