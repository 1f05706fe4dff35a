// Prints what is wrong with OpenAPI documents, and fails if there is something.
//
//	node openapi.mjs FILE...
import { readFileSync } from 'node:fs'
import { createConfig, lintFromString } from '@redocly/openapi-core'

// The rules that say what the specification says; the others are about style.
const rules = [
  'struct',
  'no-unresolved-refs',
  'spec-strict-refs',
  'spec-components-invalid-map-name',
  'no-unused-components',
  'no-identical-paths',
  'no-ambiguous-paths',
  'path-not-include-query',
  'path-declaration-must-exist',
  'path-parameters-defined',
  'operation-parameters-unique',
  'operation-operationId-unique',
  'operation-tag-defined',
  'security-defined',
  'no-server-variables-empty-enum',
  'no-undefined-server-variable',
  'no-enum-type-mismatch',
  'no-schema-type-mismatch',
  'no-required-schema-properties-undefined',
  'no-invalid-media-type-examples',
  'no-invalid-schema-examples',
  'no-invalid-parameter-examples',
]

// 3.0 has no words for a reference that may be null. Generators of clients understand
// {"allOf": [{"$ref": …}], "nullable": true}, without a type.
const accepted = 'The `type` field must be defined when the `nullable` field is used.'

const config = await createConfig({ rules: Object.fromEntries(rules.map((name) => [name, 'error'])) })
for (const path of process.argv.slice(2)) {
  for (const problem of await lintFromString({ source: readFileSync(path, 'utf8'), absoluteRef: path, config })) {
    if (problem.message !== accepted) {
      console.log(`${path}${problem.location[0]?.pointer}: ${problem.ruleId}: ${problem.message}`)
      process.exitCode = 1
    }
  }
}
