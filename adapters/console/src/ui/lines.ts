// The comparison of texts line by line, and of lists by their longest common subsequence.

/** Returns pairs of indexes of equal elements, by the longest common subsequence. */
export function commonPairs(a: readonly string[], b: readonly string[]): [number, number][] {
  const best = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) best[i]![j] = a[i] === b[j] ? best[i + 1]![j + 1]! + 1 : Math.max(best[i + 1]![j]!, best[i]![j + 1]!);
  }
  const out: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) out.push([i++, j++]);
    else if (best[i + 1]![j]! >= best[i]![j + 1]!) i++;
    else j++;
  }
  return out;
}

/** A changed line. The number is that of the new text, or for a removed line that of the old one. */
export interface LineChange {
  line: number;
  before: string | undefined;
  after: string | undefined;
}

const maxCells = 4_000_000; // above it, the lines between the equal beginning and end count as replaced

/** Returns the lines that differ between two texts. */
export function diffLines(before: string, after: string): LineChange[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const [x, y] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const pairs = x.length * y.length > maxCells ? [] : commonPairs(x, y);
  const out: LineChange[] = [];
  let [i, j] = [0, 0];
  for (const [nextI, nextJ] of [...pairs, [x.length, y.length] as const]) {
    for (; i < nextI || j < nextJ; ) {
      const [old, now] = [i < nextI ? x[i++] : undefined, j < nextJ ? y[j++] : undefined];
      out.push({ line: start + (now === undefined ? i : j), before: old, after: now });
    }
    [i, j] = [nextI + 1, nextJ + 1];
  }
  return out;
}

/** Indents JSON without a change of its numbers and strings. Text that is not JSON is returned as it is. */
export function indentJSON(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let depth = 0;
  const line = () => "\n" + "  ".repeat(depth);
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  return tokens
    .map((t, i) => {
      if (t === "{" || t === "[") return tokens[i + 1] === "}" || tokens[i + 1] === "]" ? t : (depth++, t + line());
      if (t === "}" || t === "]") return tokens[i - 1] === "{" || tokens[i - 1] === "[" ? t : (depth--, line() + t);
      return t === "," ? t + line() : t === ":" ? ": " : t;
    })
    .join("");
}
