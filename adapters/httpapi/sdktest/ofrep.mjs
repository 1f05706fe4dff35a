// Drives OpenFeature's server SDK with its OFREP provider for the tests in Go: one JSON
// call a line on standard input, one JSON answer a line on standard output.
import { createInterface } from 'node:readline'
import { OpenFeature } from '@openfeature/server-sdk'
import { OFREPProvider } from '@openfeature/ofrep-provider'

console.log = console.info = console.debug = console.error

const methods = { boolean: 'getBooleanDetails', string: 'getStringDetails', number: 'getNumberDetails', object: 'getObjectDetails' }

const calls = {
  async open({ domain, baseUrl, headers }) {
    await OpenFeature.setProviderAndWait(domain, new OFREPProvider({ baseUrl, headers }))
  },
  details({ domain, type, key, fallback, context }) {
    return OpenFeature.getClient(domain)[methods[type]](key, fallback, context)
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
await OpenFeature.close()
process.exit(0)
