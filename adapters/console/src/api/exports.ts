// Exports as the API represents them, and the drafts of their form.
import { formatTime } from "../ui/time";
import { projectPath } from "../session";
import { exportWords } from "../words/exports";

export interface Run {
  id: string;
  status: string;
  records_completed: number | null;
  latest_error: string | null;
  data_interval_start: string | null;
  data_interval_end: string | null;
  finished_at: string | null;
  bytes_exported: number | null;
}

export interface Backfill {
  id: string;
  start_at: string | null;
  end_at: string | null;
  status: string;
  finished_at: string | null;
  progress: { total_runs: number; finished_runs: number } | null;
}

export interface Export {
  id: string;
  name: string;
  model: string;
  destination: { type: string; config: Record<string, unknown> };
  interval: string;
  paused: boolean;
  timezone: string;
  latest_runs: Run[];
}

export interface ExportDraft {
  name: string;
  model: string;
  interval: string;
  type: string;
  config: Record<string, string>;
}

export const exportsPath = () => projectPath("batch_exports/");
export const isRunning = (status: string) => status === "Starting" || status === "Running";

/** The settings of each kind of destination that the form shows. The API never returns secrets. */
export const settingsOf: Record<string, string[]> = {
  Files: ["path", "prefix"],
  S3: ["bucket_name", "region", "prefix", "aws_access_key_id", "aws_secret_access_key", "endpoint_url"],
  Postgres: ["host", "port", "user", "password", "database", "schema", "table_name", "sslmode"],
  HTTP: ["url", "token"],
};
const always = new Set(["path", "region", "prefix"]);
export const secrets = new Set(["aws_access_key_id", "aws_secret_access_key", "user", "password", "token"]);

/** The formats of files and the compressions that each supports. */
export const compressions: Record<string, string[]> = { JSONLines: ["gzip", "brotli"], Parquet: ["zstd", "lz4", "snappy", "gzip", "brotli"] };
export const writesFiles = (type: string) => type === "Files" || type === "S3";

export function exportDraft(e?: Export): ExportDraft {
  if (!e) return { name: "", model: "events", interval: "hour", type: "Files", config: {} };
  const config = Object.fromEntries(Object.entries(e.destination.config).filter(([, v]) => typeof v === "string" || typeof v === "number").map(([k, v]) => [k, String(v)]));
  return { name: e.name, model: e.model, interval: e.interval, type: e.destination.type, config };
}

/** Converts a draft to a body for the API: all fields of a new export, or the changed fields of an existing one. */
export function exportBody(d: ExportDraft, was?: Export): Record<string, unknown> {
  const before = was && exportDraft(was);
  const names = [...settingsOf[d.type]!, ...(writesFiles(d.type) ? ["file_format", "compression"] : [])];
  const value = (n: string) => (n === "port" && d.config[n] ? Number(d.config[n]) : d.config[n] || (always.has(n) ? "" : null));
  const changed = names.filter((n) => (before ? (d.config[n] ?? "") !== (before.config[n] ?? "") : d.config[n] || always.has(n)));
  const destination = { type: d.type, config: Object.fromEntries(changed.map((n) => [n, value(n)])) };
  if (!before) return { name: d.name.trim(), model: d.model, interval: d.interval, destination };
  const plain = { name: d.name.trim(), model: d.model, interval: d.interval };
  return { ...Object.fromEntries(Object.entries(plain).filter(([k, v]) => v !== before[k as keyof typeof plain])), ...(changed.length ? { destination } : {}) };
}

/** Formats a span such as "2 Jan 2026, 00:00 to 3 Jan 2026, 00:00" in the time zone of the export. */
export function spanText(from: string | null, to: string | null, zone: string): string {
  const at = (iso: string) => formatTime(iso, { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" }, zone);
  return exportWords.spanOf(from ? at(from) : exportWords.beginning, to ? at(to) : exportWords.end);
}
