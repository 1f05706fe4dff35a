// Runs the SQL statements in the JSON array on the standard input with DuckDB, and prints a JSON array
// with the rows of each. All values must be texts. With --times it prints an object for each statement
// with the rows and the elapsed time and the CPU time of the process in milliseconds.
import { text } from 'node:stream/consumers'
import { DuckDBInstance } from '@duckdb/node-api'

const isTimed = process.argv.includes('--times')
const instance = await DuckDBInstance.create(':memory:')
const connection = await instance.connect()
const results = []
for (const statement of JSON.parse(await text(process.stdin))) {
  const cpuBefore = process.cpuUsage()
  const began = performance.now()
  const reader = await connection.runAndReadAll(statement)
  const elapsed = performance.now() - began
  const cpu = process.cpuUsage(cpuBefore)
  const rows = reader.getRows()
  results.push(isTimed ? { rows, elapsed, cpu: (cpu.user + cpu.system) / 1000 } : rows)
}
process.stdout.write(JSON.stringify(results))
