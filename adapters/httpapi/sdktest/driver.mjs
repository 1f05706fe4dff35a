// Drives posthog-node for node_test.go: one JSON call a line on standard input,
// one JSON answer a line on standard output. Warnings of the SDK go to standard
// error with everything else it prints.
import { createInterface } from 'node:readline'
import { PostHog } from 'posthog-node'

console.log = console.info = console.debug = console.error

const clients = new Map()
const errors = []

// Snapshots become {key: {value, payload}}; a payload that is absent stays out.
function plain(snapshot) {
  const flags = {}
  for (const key of snapshot.keys) {
    const payload = snapshot.getFlagPayload(key) ?? undefined
    flags[key] = { value: snapshot.getFlag(key, { sendFeatureFlagEvents: false }), payload }
  }
  return flags
}

const calls = {
  // forwardedFor is an address of the application's user to put on requests.
  open({ client, key, options, forwardedFor }) {
    if (forwardedFor) {
      options.fetch = (url, init) => fetch(url, { ...init, headers: { ...init.headers, 'X-Forwarded-For': forwardedFor } })
    }
    const posthog = new PostHog(key, options)
    posthog.on('error', (error) => errors.push(String(error)))
    clients.set(client, posthog)
  },
  async evaluate({ client, questions }) {
    const out = []
    for (const { distinctId, options } of questions) {
      out.push(plain(await clients.get(client).evaluateFlags(distinctId, options)))
    }
    return out
  },
  call({ client, method, args }) {
    return clients.get(client)[method](...args)
  },
  errors() {
    return errors.splice(0)
  },
  async close({ client }) {
    await clients.get(client).shutdown(5000)
    clients.delete(client)
  },
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer
  try {
    const { name, ...args } = JSON.parse(line)
    answer = { result: await calls[name](args) }
  } catch (error) {
    answer = { error: String(error?.stack ?? error) }
  }
  process.stdout.write(JSON.stringify(answer) + '\n')
}
process.exit(0)
