// Runs the SQL statements in the JSON array on the standard input with DuckDB, and prints a JSON array
// with the rows of each. All values must be texts.
import { text } from 'node:stream/consumers'
import { DuckDBInstance } from '@duckdb/node-api'

const instance = await DuckDBInstance.create(':memory:')
const connection = await instance.connect()
const results = []
for (const statement of JSON.parse(await text(process.stdin))) {
  const reader = await connection.runAndReadAll(statement)
  results.push(reader.getRows())
}
process.stdout.write(JSON.stringify(results))
