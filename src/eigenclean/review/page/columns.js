// The suspects as columns of numbers: a few hundred thousand of them are filtered and counted in milliseconds.

const KINDS = {
  id: Array, row: Float64Array, given: Int32Array, suggested: Int32Array, flagged: Uint8Array, wrong: Float32Array, confidence: Float32Array,
  state: Uint8Array, label: Int32Array, base: Float64Array, // the last decision: its state, label and number
};

export function makeColumns(n) {
  const columns = Object.fromEntries(Object.entries(KINDS).map(([name, Kind]) => [name, new Kind(n)]));
  columns.label.fill(-1);
  return columns;
}

// Puts a page of suspects, which may lack columns, where it belongs.
export function fillColumns(columns, start, page) {
  for (const [name, values] of Object.entries(page)) {
    const column = columns[name];
    if (column instanceof Array) values.forEach((value, at) => { column[start + at] = value; });
    else column.set(values, start);
  }
}
