// Prevents concurrent runs of an action: a second click during the first run does nothing.
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
