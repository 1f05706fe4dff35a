// What is done once at a time: a second press while the first is under way does nothing.
const running = new WeakSet<() => unknown>();

export async function once(run: () => unknown): Promise<void> {
  if (running.has(run)) return;
  running.add(run);
  try {
    await run();
  } finally {
    running.delete(run);
  }
}
