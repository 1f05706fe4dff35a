// A program of somebody's, with the types that openapi-typescript made of our
// description (../generated_test.go).
import createClient from 'openapi-fetch'
import type { components, paths } from './api.js'

declare const process: { argv: string[] }

const [url, key] = process.argv.slice(2) as [string, string]
const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } })
const project = { project_id: 1 }

const made = await client.POST('/api/projects/{project_id}/feature_flags/', {
  params: { path: project },
  body: { key: 'ts', filters: { groups: [{ rollout_percentage: 100 }] } },
})
if (!made.data) throw new Error(`making a flag: ${made.error.detail}`)
const flag: components['schemas']['Flag'] = made.data

const listed = await client.GET('/api/projects/{project_id}/feature_flags/', {
  params: { path: project, query: { order: '-created_at', limit: 1 } },
})
if (!listed.data) throw new Error(`listing flags: ${listed.error.detail}`)
console.log('flags', listed.data.count, listed.data.results[0]!.key, listed.data.results[0]!.id === flag.id)

const none = await client.GET('/api/projects/{project_id}/feature_flags/{id}/', { params: { path: { ...project, id: 999 } } })
console.log('error', none.error?.code)

// @ts-expect-error: the id of a flag is a number
void (() => client.GET('/api/projects/{project_id}/feature_flags/{id}/', { params: { path: { ...project, id: 'ts' } } }))

const flags = await client.POST('/flags/', { params: { query: { v: 2 } }, body: { token: 'phc_1', distinct_id: 'u' } })
console.log('enabled', flags.data?.flags?.['ts']?.enabled)

const one = await client.POST('/ofrep/v1/evaluate/flags/{key}/', {
  params: { path: { key: 'ts' } },
  headers: { Authorization: 'Bearer phc_1' },
  body: { context: { targetingKey: 'u' } },
})
console.log('value', one.data?.value, one.data?.reason?.toLowerCase())

const taken = await client.POST('/batch/', { body: { api_key: 'phc_1', batch: [{ event: 'generated', distinct_id: 'u' }] } })
console.log('captured', taken.data?.status)
