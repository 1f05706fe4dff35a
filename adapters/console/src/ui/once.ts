// What is done once at a time: a second press while the first is under way does nothing.
const under = new WeakSet<() => unknown>();

export async function once(run: () => unknown): Promise<void> {
  if (under.has(run)) return;
  under.add(run);
  try {
    await run();
  } finally {
    under.delete(run);
  }
}
