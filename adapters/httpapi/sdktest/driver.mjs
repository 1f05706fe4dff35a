// Drives posthog-node for the tests in Go: one JSON call a line on standard input,
// one JSON answer a line on standard output. Warnings of the SDK go to standard
// error with everything else it prints.
import { createInterface } from 'node:readline'
import { PostHog } from 'posthog-node'

const clients = new Map()
const errors = []
// What a client took over for sending, and what it complained about.
const taken = []
const complaints = []

const stderr = console.error
console.log = console.info = console.debug = stderr
console.warn = console.error = (...args) => {
  complaints.push(args.map(String).join(' '))
  stderr(...args)
}

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
    for (const type of ['capture', 'identify', 'alias']) {
      posthog.on(type, ({ uuid, event, distinct_id }) => taken.push({ uuid, event, distinct_id }))
    }
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
  capture({ client, message }) {
    clients.get(client).capture({ ...message, timestamp: message.timestamp && new Date(message.timestamp) })
  },
  exception({ client, distinctId, text }) {
    clients.get(client).captureException(new Error(text), distinctId)
  },
  // typed captures an exception of a type of its own, with a cause, from a function.
  typed({ client, distinctId }) {
    class OrderError extends Error {
      name = 'OrderError'
    }
    function shareOfNothing() {
      throw new RangeError('division by zero')
    }
    try {
      shareOfNothing()
    } catch (cause) {
      clients.get(client).captureException(new OrderError('cannot bill', { cause }), distinctId)
    }
  },
  // enabled tells that the flag was used.
  async enabled({ client, distinctId, key }) {
    return (await clients.get(client).evaluateFlags(distinctId)).isEnabled(key)
  },
  heard() {
    return { taken: taken.splice(0), errors: errors.splice(0), complaints: complaints.splice(0) }
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
