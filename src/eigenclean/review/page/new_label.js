// Labels that do not exist yet: what may be typed as one. The server checks the same.
const MAX_LABEL = 200;

// The label as it will be written, or null where the text cannot be one.
export function newLabel(run, typed) {
  const text = typed.trim();
  if (!run.new_labels || !text || text.length > MAX_LABEL || /[\u0000-\u001f\u007f\u2028\u2029]/.test(text)) return null;
  if (run.new_labels === "integer") return /^[+-]?[0-9]{1,18}$/.test(text) ? BigInt(text.replace("+", "")).toString() : null;
  return run.folders && (text.startsWith(".") || text === "_removed" || /[/\\]/.test(text)) ? null : text;
}
