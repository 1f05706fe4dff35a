package batchexports_test

import (
	"errors"
	"testing"

	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// The expected values of the tables follow from spec/management.md, in the section that a row has.
// "clients" is spec/clients.md, "decision" design/decisions.md.

func TestBatchExports_Rules(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"fields": fieldRows, "changes": changeRows, "destinations": destinationRows, "settings": settingRows, "secrets": secretRows,
		"queries": queryRows, "filters": filterRows, "places": placeRows, "pausing": pausingRows, "deletion": deletionRows, "without a project": deletedRows, "tests": testRows,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.destination.tests[1] = errors.New("the password secret is wrong")
			w.Run(t, w.calls(t), rows)
		})
	}
}

// files returns the body of an export to files with additional members.
func files(more string) string {
	return `{"name":"x","interval":"hour","destination":{"type":"Files","config":{"path":"f"}}` + more + `}`
}

// exportTo returns the body of an export to a destination.
func exportTo(kind, config string) string {
	return `{"name":"x","interval":"hour","destination":{"type":"` + kind + `","config":` + config + `}}`
}

const (
	nowhere  = "0191f0a2-5b1c-7d3e-8f40-99999999ffff"
	notFound = `404 not_found - Not found.`
	s3       = `"bucket_name":"b","region":"us-east-1","prefix":"p/"`
	postgres = `"user":"u","password":"secret","host":"db","database":"d"`
)

var fieldRows = []ruletest.Row{
	{"§4.3.3 the sample of the interface", "bob", "create", `{"name":"x","destination":{"type":"S3","config":{"bucket_name":"b","region":"us-east-1","prefix":"p/"}},"interval":"hour"}`,
		`{"id":"(like) ^[0-9a-f-]{36}$","team_id":1,"name":"x","model":"events","interval":"hour","paused":false,"created_at":"2026-01-02T12:00:01Z","last_updated_at":"2026-01-02T12:00:01Z",
		"last_paused_at":null,"start_at":null,"end_at":null,"latest_runs":[],"schema":null,"filters":null,"hogql_query":"(absent)",
		"destination":{"type":"S3","config":{"bucket_name":"b","region":"us-east-1","prefix":"p/"}}}`},
	{"clients §16 destination", "bob", "create", files(``), `{"destination":{"type":"Files","config":{"path":"f"},"integration":null}}`},
	{"§4.3.1 name", "bob", "create", `{"interval":"hour","destination":{}}`, `400 required name This field is required.`},
	{"§4.3.1 name", "bob", "create", `{"name":"","interval":"hour"}`, `400 blank name This field may not be blank.`},
	{"§4.3.1 name", "bob", "create", `{"name":" \t"}`, `400 blank name This field may not be blank.`},
	{"§4.3.1 name", "bob", "create", `{"name":null}`, `400 null name This field may not be null.`},
	{"§4.3.1 name", "bob", "create", `{"name":["x"]}`, `400 invalid_input name Not a valid string.`},
	{"§6 row 43", "bob", "create", `{"name":"x","interval":"hour"}`, `400 required destination This field is required.`},
	{"§4.3.1 destination", "bob", "create", `{"name":"x","interval":"hour","destination":null}`, `400 null destination This field may not be null.`},
	{"§4.3.1 interval", "bob", "create", `{"name":"x","destination":{"type":"Files","config":{"path":"f"}}}`, `400 required interval This field is required.`},
	{"§4.3.1 interval", "bob", "create", files(`,"interval":"minute"`), `400 invalid_choice interval "minute" is not a valid choice.`},
	{"§4.3.1 interval", "bob", "create", files(`,"interval":null`), `400 null interval This field may not be null.`},
	{"§4.3.1 interval", "bob", "create", files(`,"interval":"day"`), `{"interval":"day"}`},
	{"§4.3.1 interval", "bob", "create", files(`,"interval":"week"`), `{"interval":"week"}`},
	{"clients §18 not gated", "bob", "create", files(`,"interval":"every 5 minutes"`), `{"interval":"every 5 minutes"}`},
	{"§4.3.1 of 2026", "bob", "create", files(`,"interval":"every 15 minutes"`), `{"interval":"every 15 minutes"}`},
	{"§4.3.1 model", "bob", "create", files(`,"model":"persons"`), `{"model":"persons"}`},
	{"§4.3.1 model", "bob", "create", files(`,"model":"sessions"`), `{"model":"sessions"}`},
	{"§4.3.1 model null is the default", "bob", "create", files(`,"model":null`), `{"model":"events"}`},
	{"§4.3.1 model", "bob", "create", files(`,"model":"groups"`), `400 invalid_choice model "groups" is not a valid choice.`},
	{"§4.3.1 paused", "bob", "create", files(`,"paused":true`), `{"paused":true}`},
	{"§4.3.1 paused", "bob", "create", files(`,"paused":"perhaps"`), `400 invalid_input paused Must be a valid boolean.`},
	{"§4.3.1 last_paused_at is ignored", "bob", "create", files(`,"last_paused_at":"2020-01-01T00:00:00Z"`), `{"last_paused_at":null}`},
	{"§4.3.1 read-only", "bob", "create", files(`,"id":"` + nowhere + `","team_id":2,"created_at":"2020-01-01T00:00:00Z","latest_runs":[1],"schema":{}`), `{"team_id":1,"latest_runs":[],"schema":null,"created_at":"(like) ^2026-01-02T12:00"}`},
	{"§4.3.1 start_at, end_at", "bob", "create", files(`,"start_at":"2026-02-01T00:00:00+01:00","end_at":"2026-03-01T00:00:00.5Z"`), `{"start_at":"2026-01-31T23:00:00Z","end_at":"2026-03-01T00:00:00.500000Z"}`},
	{"§4.3.1 start_at", "bob", "create", files(`,"start_at":"soon"`), `400 invalid_input start_at Datetime has wrong format.`},
	{"§4.3.1 end_at", "bob", "create", files(`,"end_at":17`), `400 invalid_input end_at Datetime has wrong format.`},
	{"§4.3.1 offset_day of a week", "bob", "create", files(`,"interval":"week","offset_day":6,"offset_hour":23`), `{"offset_day":6,"offset_hour":23}`},
	{"§4.3.1 offset_day, 0 is Sunday", "bob", "create", files(`,"interval":"week","offset_day":0`), `{"offset_day":0,"offset_hour":null}`},
	{"§4.3.1 offset_day", "bob", "create", files(`,"interval":"week","offset_day":7`), `400 max_value offset_day Ensure this value is less than or equal to 6.`},
	{"§4.3.1 offset_day", "bob", "create", files(`,"interval":"week","offset_day":-1`), `400 min_value offset_day Ensure this value is greater than or equal to 0.`},
	{"§4.3.1 offset_day", "bob", "create", files(`,"interval":"day","offset_day":1`), `400 invalid_input * offset_day is not applicable for non-weekly intervals`},
	{"§4.3.1 offset_day", "bob", "create", files(`,"offset_day":0`), `400 invalid_input * offset_day is not applicable for non-weekly intervals`},
	{"§4.3.1 offset_hour", "bob", "create", files(`,"interval":"day","offset_hour":24`), `400 max_value offset_hour Ensure this value is less than or equal to 23.`},
	{"§4.3.1 offset_hour of a day", "bob", "create", files(`,"interval":"day","offset_hour":0`), `{"offset_hour":0}`},
	{"§4.3.1 offset_hour", "bob", "create", files(`,"offset_hour":3`), `400 invalid_input * offset_hour is not applicable for non-daily/weekly intervals`},
	{"§4.3.1 offset_hour", "bob", "create", files(`,"interval":"every 5 minutes","offset_hour":3`), `400 invalid_input * offset_hour is not applicable for non-daily/weekly intervals`},
	{"decision 23 UTC unless said", "bob", "create", files(`,"timezone":null`), `{"timezone":"UTC"}`},
	{"decision 23 timezone", "bob", "create", files(`,"interval":"day","timezone":"Europe/Berlin"`), `{"timezone":"Europe/Berlin"}`},
	{"§2.2 timezone", "bob", "create", files(`,"timezone":"Mars/Olympus"`), `400 * timezone`},
	{"§2.2 a body that is no object", "bob", "create", `[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
	{"§2.4 unknown members", "bob", "create", files(`,"colour":"red"`), `{"colour":"(absent)"}`},
}

var changeRows = []ruletest.Row{
	{"§4.3.3", "bob", "create => it", files(``), `{"name":"x"}`},
	{"§4.3.3 PATCH", "cyd", "change <it>", `{"name":"y"}`, `{"name":"y","interval":"hour","created_at":"2026-01-02T12:00:01Z","last_updated_at":"2026-01-02T12:00:02Z"}`},
	{"§4.3.1 changes on every save", "cyd", "change <it>", `{}`, `{"name":"y","last_updated_at":"2026-01-02T12:00:03Z"}`},
	{"§4.3.3 GET", "bob", "get <it>", ``, `{"name":"y","last_updated_at":"2026-01-02T12:00:03Z"}`},
	{"§2.5 PUT", "bob", "put <it>", `{"name":"z","interval":"day"}`, `400 required destination This field is required.`},
	{"§2.5 PUT", "bob", "put <it>", files(`,"interval":"day"`), `{"name":"x","interval":"day"}`},
	{"§4.3.2 merges key by key", "bob", "change <it>", `{"destination":{"config":{"prefix":"a"}}}`, `{"destination":{"type":"Files","config":{"path":"f","prefix":"a"}}}`},
	{"§4.3.2 merges key by key", "bob", "change <it>", `{"destination":{"type":"Files","config":{"prefix":"b"}}}`, `{"destination":{"type":"Files","config":{"path":"f","prefix":"b"}}}`},
	{"§4.3.2 the type stays", "bob", "change <it>", `{"destination":{"type":"HTTP","config":{"url":"https://x","token":"t"}}}`, `400 invalid_input * Cannot change destination type from 'Files' to 'HTTP'.`},
	{"§4.3.2 the type stays", "bob", "change <it>", `{"destination":null}`, `400 null destination This field may not be null.`},
	{"§4.3.1 model", "bob", "change <it>", `{"model":"persons"}`, `{"model":"persons"}`},
	{"§4.3.1 model", "bob", "change <it>", `{"model":null}`, `{"model":"events"}`},
	{"§4.3.1 an offset that does not fit any more", "bob", "change <it>", `{"offset_hour":5}`, `{"offset_hour":5}`},
	{"§4.3.1 an offset that does not fit any more", "bob", "change <it>", `{"interval":"hour"}`, `400 invalid_input * offset_hour is not applicable for non-daily/weekly intervals`},
	{"§4.3.1 together it does", "bob", "change <it>", `{"interval":"hour","offset_hour":null}`, `{"interval":"hour","offset_hour":null}`},
	{"§4.3.1 start_at may be cleared", "bob", "change <it>", `{"start_at":"2026-02-01T00:00:00Z"}`, `{"start_at":"2026-02-01T00:00:00Z"}`},
	{"§4.3.1 start_at may be cleared", "bob", "change <it>", `{"start_at":null}`, `{"start_at":null}`},
	{"§4.3.4 paused by a change", "bob", "change <it>", `{"paused":true}`, `{"paused":true,"last_paused_at":"2026-01-02T12:00:18Z"}`},
	{"§4.3.4 paused already", "bob", "change <it>", `{"paused":true}`, `{"paused":true,"last_paused_at":"2026-01-02T12:00:18Z"}`},
	{"§4.3.1 last_paused_at is ignored", "bob", "change <it>", `{"last_paused_at":null}`, `{"last_paused_at":"2026-01-02T12:00:18Z"}`},
	{"§4.3.4 unpaused by a change", "bob", "change <it>", `{"paused":false}`, `{"paused":false,"last_paused_at":"2026-01-02T12:00:18Z"}`},
	{"§5.11 what was changed", "bob", "change <it>", `{"name":"last"}`, `{"name":"last"}`},
	{"§5.11 what was changed", "bob", "log BatchExport <it>", ``, `{"activity":"updated","scope":"BatchExport","item_id":"<it>","user":{"first_name":"bob","email":"bob@example.com"},
		"detail":{"name":"last","changes":[{"type":"BatchExport","action":"changed","field":"name","before":"x","after":"last"}]}}`},
	{"§5.11 nothing was changed", "cyd", "change <it>", `{"name":"last"}`, `{"name":"last"}`},
	{"§5.11 nothing was changed", "bob", "log BatchExport <it>", ``, `{"user":{"first_name":"bob"}}`},
	{"§4.3.4 unknown", "bob", "change " + nowhere, `{}`, notFound},
	{"§4.3.4 no UUID", "bob", "change 17", `{}`, notFound},
}

var destinationRows = []ruletest.Row{
	{"§6 row 44", "bob", "create", exportTo("FTP", `{}`), `400 invalid_choice destination__type "FTP" is not a valid choice.`},
	{"decision 23", "bob", "create", exportTo("Snowflake", `{}`), `400 invalid_choice destination__type "Snowflake" is not a valid choice.`},
	{"decision 23", "bob", "create", exportTo("BigQuery", `{}`), `400 invalid_choice destination__type "BigQuery" is not a valid choice.`},
	{"decision 23", "bob", "create", exportTo("Redshift", `{}`), `400 invalid_choice destination__type "Redshift" is not a valid choice.`},
	{"§4.3.2 type", "bob", "create", files(`,"destination":{"config":{}}`), `400 required destination__type This field is required.`},
	{"§4.3.2 type", "bob", "create", files(`,"destination":{"type":null,"config":{}}`), `400 null destination__type This field may not be null.`},
	{"§4.3.2 config", "bob", "create", files(`,"destination":{"type":"Files"}`), `400 required destination__config This field is required.`},
	{"§4.3.2 config", "bob", "create", files(`,"destination":{"type":"Files","config":[]}`), `400 not_a_dict destination__config Expected a dictionary of items but got type "list".`},
	{"§2.2 destination", "bob", "create", files(`,"destination":"S3"`), `400 invalid_input destination Invalid data. Expected a dictionary, but got str.`},
	{"§4.3.2 integration", "bob", "create", files(`,"destination":{"type":"Files","config":{"path":"f"},"integration":null,"integration_id":null}`), `{"destination":{"type":"Files"}}`},
	{"§2.2 there are no integrations", "bob", "create", files(`,"destination":{"type":"Files","config":{"path":"f"},"integration":3}`), `400 does_not_exist destination__integration Invalid pk "3" - object does not exist.`},
	{"§2.2 there are no integrations", "bob", "create", files(`,"destination":{"type":"Files","config":{"path":"f"},"integration_id":"3"}`), `400 does_not_exist destination__integration_id Invalid pk "3" - object does not exist.`},

	{"§4.3.2 unknown", "bob", "create", exportTo("S3", `{`+s3+`,"colour":"red"}`), `400 invalid_input destination Configuration has unknown field/s: 'colour'`},
	{"§4.3.2 unknown, of another type", "bob", "create", exportTo("Postgres", `{`+postgres+`,"bucket_name":"b"}`), `400 invalid_input destination Configuration has unknown field/s: 'bucket_name'`},
	{"§4.3.2 missing", "bob", "create", exportTo("S3", `{"region":"r","prefix":""}`), `400 invalid_input destination Configuration missing required field: 'bucket_name'`},
	{"§4.3.2 missing", "bob", "create", exportTo("S3", `{"bucket_name":"b","prefix":""}`), `400 invalid_input destination Configuration missing required field: 'region'`},
	{"§4.3.2 missing", "bob", "create", exportTo("S3", `{"bucket_name":"b","region":"r"}`), `400 invalid_input destination Configuration missing required field: 'prefix'`},
	{"§4.3.2 missing", "bob", "create", exportTo("Postgres", `{"password":"p","host":"h","database":"d"}`), `400 invalid_input destination Configuration missing required field: 'user'`},
	{"§4.3.2 missing", "bob", "create", exportTo("Postgres", `{"user":"u","host":"h","database":"d"}`), `400 invalid_input destination Configuration missing required field: 'password'`},
	{"§4.3.2 missing", "bob", "create", exportTo("Postgres", `{"user":"u","password":"p","database":"d"}`), `400 invalid_input destination Configuration missing required field: 'host'`},
	{"§4.3.2 missing", "bob", "create", exportTo("Postgres", `{"user":"u","password":"p","host":"h"}`), `400 invalid_input destination Configuration missing required field: 'database'`},
	{"§4.3.2 missing", "bob", "create", exportTo("HTTP", `{"token":"t"}`), `400 invalid_input destination Configuration missing required field: 'url'`},
	{"§4.3.2 missing", "bob", "create", exportTo("HTTP", `{"url":"https://x.example"}`), `400 invalid_input destination Configuration missing required field: 'token'`},
	{"§4.3.2 wrong type", "bob", "create", exportTo("Postgres", `{`+postgres+`,"port":"five"}`), `400 invalid_input destination Configuration has invalid type: got 'str', expected 'int'`},
	{"§4.3.2 wrong type", "bob", "create", exportTo("Postgres", `{`+postgres+`,"port":true}`), `400 invalid_input destination Configuration has invalid type: got 'bool', expected 'int'`},
	{"§4.3.2 wrong type", "bob", "create", exportTo("Postgres", `{`+postgres+`,"has_self_signed_cert":1}`), `400 invalid_input destination Configuration has invalid type: got 'int', expected 'bool'`},
	{"§4.3.2 wrong type", "bob", "create", exportTo("Postgres", `{`+postgres+`,"has_self_signed_cert":"maybe"}`), `400 invalid_input destination Configuration has invalid type: got 'str', expected 'bool'`},
	{"§4.3.2 wrong type", "bob", "create", exportTo("S3", `{"bucket_name":7,"region":"r","prefix":""}`), `400 invalid_input destination Configuration has invalid type: got 'int', expected 'str'`},
	{"§4.3.2 wrong type", "bob", "create", exportTo("S3", `{"bucket_name":null,"region":"r","prefix":""}`), `400 invalid_input destination Configuration has invalid type: got 'NoneType', expected 'str'`},
	{"§4.3.2 texts are converted", "bob", "create", exportTo("Postgres", `{`+postgres+`,"port":"5433","has_self_signed_cert":"True"}`), `{"destination":{"config":{"port":5433,"has_self_signed_cert":true}}}`},
	{"§4.3.2 texts are converted", "bob", "create", exportTo("S3", `{`+s3+`,"use_virtual_style_addressing":"false","max_file_size_mb":"10"}`), `{"destination":{"config":{"use_virtual_style_addressing":false,"max_file_size_mb":10}}}`},
	{"§4.3.2 optional ones may be null", "bob", "create", exportTo("S3", `{`+s3+`,"compression":null,"encryption":null}`), `{"destination":{"config":{"compression":null}}}`},
	{"§4.3.2 all take event lists", "bob", "create", exportTo("HTTP", `{"url":"https://x.example","token":"t","include_events":["a"],"exclude_events":["b","c"]}`), `{"destination":{"config":{"include_events":["a"],"exclude_events":["b","c"]}}}`},
	{"§4.3.2 event lists", "bob", "create", exportTo("S3", `{`+s3+`,"include_events":"a"}`), `400 invalid_input destination Configuration has invalid type: got 'str', expected 'list'`},
	{"§4.3.2 event lists", "bob", "create", exportTo("S3", `{`+s3+`,"exclude_events":[{}]}`), `400 invalid_input destination__0 Not a valid string.`},
}

var settingRows = []ruletest.Row{
	{"§4.3.2 formats", "bob", "create", exportTo("S3", `{`+s3+`,"file_format":"CSV"}`), `400 invalid_input destination File format CSV is not supported.`},
	{"§4.3.2 formats", "bob", "create", exportTo("S3", `{`+s3+`,"file_format":"JSONLines"}`), `{"destination":{"config":{"file_format":"JSONLines"}}}`},
	{"§4.3.2 JSONLines is the default", "bob", "create", exportTo("S3", `{`+s3+`,"compression":"zstd"}`), `400 invalid_input destination Compression zstd is not supported for file format JSONLines.`},
	{"§4.3.2 JSONLines", "bob", "create", exportTo("S3", `{`+s3+`,"compression":"gzip"}`), `{"destination":{"config":{"compression":"gzip"}}}`},
	{"§4.3.2 JSONLines", "bob", "create", exportTo("S3", `{`+s3+`,"compression":"brotli"}`), `{"destination":{"config":{"compression":"brotli"}}}`},
	{"§4.3.2 Parquet", "bob", "create", exportTo("S3", `{`+s3+`,"file_format":"Parquet","compression":"zstd"}`), `{"destination":{"config":{"compression":"zstd"}}}`},
	{"§4.3.2 Parquet", "bob", "create", exportTo("S3", `{`+s3+`,"file_format":"Parquet","compression":"lz4"}`), `{"destination":{"config":{"compression":"lz4"}}}`},
	{"§4.3.2 Parquet", "bob", "create", exportTo("S3", `{`+s3+`,"file_format":"Parquet","compression":"snappy"}`), `{"destination":{"config":{"compression":"snappy"}}}`},
	{"§4.3.2 Parquet", "bob", "create", exportTo("S3", `{`+s3+`,"file_format":"Parquet","compression":"gzip"}`), `{"destination":{"config":{"compression":"gzip"}}}`},
	{"§4.3.2 Parquet", "bob", "create", exportTo("S3", `{`+s3+`,"file_format":"Parquet","compression":"brotli"}`), `{"destination":{"config":{"compression":"brotli"}}}`},
	{"§4.3.2 Parquet", "bob", "create", exportTo("S3", `{`+s3+`,"file_format":"Parquet","compression":"deflate"}`), `400 invalid_input destination Compression deflate is not supported for file format Parquet.`},
	{"§4.3.2 compression", "bob", "create", exportTo("Files", `{"path":"f","compression":"lz4"}`), `400 invalid_input destination Compression lz4 is not supported for file format JSONLines.`},
	{"§4.3.2 encryption", "bob", "create", exportTo("S3", `{`+s3+`,"encryption":"AES256"}`), `{"destination":{"config":{"encryption":"AES256"}}}`},
	{"§4.3.2 encryption", "bob", "create", exportTo("S3", `{`+s3+`,"encryption":"aws:kms","kms_key_id":"k"}`), `{"destination":{"config":{"encryption":"aws:kms","kms_key_id":"k"}}}`},
	{"§4.3.2 encryption", "bob", "create", exportTo("S3", `{`+s3+`,"encryption":"rot13"}`), `400 invalid_input destination Encryption rot13 is not supported.`},
	{"§4.3.2 encryption", "bob", "create", exportTo("S3", `{`+s3+`,"encryption":"aws:kms"}`), `400 invalid_input destination Configuration missing required field: 'kms_key_id'`},
	{"§4.3.2 max_file_size_mb", "bob", "create", exportTo("S3", `{`+s3+`,"max_file_size_mb":0}`), `400 invalid_input destination`},
	{"§4.3.2 max_file_size_mb", "bob", "create", exportTo("S3", `{`+s3+`,"max_file_size_mb":1}`), `{"destination":{"config":{"max_file_size_mb":1}}}`},
	{"§4.3.2 endpoint_url", "bob", "create", exportTo("S3", `{`+s3+`,"endpoint_url":"minio:9000"}`), `400 invalid_input destination 'endpoint_url': Enter a valid URL.`},
	{"§4.3.2 endpoint_url", "bob", "create", exportTo("S3", `{`+s3+`,"endpoint_url":"https://minio.example:9000"}`), `{"destination":{"config":{"endpoint_url":"https://minio.example:9000"}}}`},
	{"§4.3.2 url", "bob", "create", exportTo("HTTP", `{"url":"ftp://x.example","token":"t"}`), `400 invalid_input destination 'url': Enter a valid URL.`},
	{"§4.3.2 url", "bob", "create", exportTo("HTTP", `{"url":"","token":"t"}`), `400 invalid_input destination 'url': Enter a valid URL.`},
	{"§4.3.2 port", "bob", "create", exportTo("Postgres", `{`+postgres+`,"port":0}`), `400 invalid_input destination 'port' must be a number from 1 to 65535.`},
	{"§4.3.2 port", "bob", "create", exportTo("Postgres", `{`+postgres+`,"port":65535}`), `{"destination":{"config":{"port":65535}}}`},
	{"§4.3.2 port", "bob", "create", exportTo("Postgres", `{`+postgres+`,"port":65536}`), `400 invalid_input destination 'port' must be a number from 1 to 65535.`},
	{"README sslmode", "bob", "create", exportTo("Postgres", `{`+postgres+`,"sslmode":"verify"}`), `400 invalid_input destination 'sslmode' verify is not supported.`},
	{"README sslmode", "bob", "create", exportTo("Postgres", `{`+postgres+`,"sslmode":"prefer"}`), `{"destination":{"config":{"sslmode":"prefer"}}}`},
	{"decision 23 below the folder of exports", "bob", "create", exportTo("Files", `{"path":"../up"}`), `400 invalid_input destination 'path' and 'prefix' must be relative to the server's export folder:`},
	{"decision 23 below the folder of exports", "bob", "create", exportTo("Files", `{"path":"a/../../b"}`), `400 invalid_input destination 'path' and 'prefix' must be relative to the server's export folder:`},
	{"decision 23 below the folder of exports", "bob", "create", exportTo("Files", `{"path":"/etc"}`), `400 invalid_input destination 'path' and 'prefix' must be relative to the server's export folder:`},
	{"decision 23 below the folder of exports", "bob", "create", exportTo("Files", `{"path":"a","prefix":"..\\b"}`), `400 invalid_input destination 'path' and 'prefix' must be relative to the server's export folder:`},
	{"decision 23 below the folder of exports", "bob", "create", exportTo("Files", `{"path":"a/b","prefix":"2026/"}`), `{"destination":{"config":{"path":"a/b","prefix":"2026/"}}}`},
	{"§4.3.1 HTTP takes events", "bob", "create", `{"name":"x","interval":"hour","model":"persons","destination":{"type":"HTTP","config":{"url":"https://x.example","token":"t"}}}`, `400 invalid_input * HTTP batch exports only support the events model`},
	{"§4.3.1 HTTP takes events", "bob", "create", `{"name":"x","interval":"hour","model":"sessions","destination":{"type":"HTTP","config":{"url":"https://x.example","token":"t"}}}`, `400 invalid_input * HTTP batch exports only support the events model`},
	{"§4.3.2 lists are of events", "bob", "create", `{"name":"x","interval":"hour","model":"persons","destination":{"type":"Files","config":{"path":"f","include_events":["a"]}}}`, `400 invalid_input destination`},
}

var secretRows = []ruletest.Row{
	{"§6 row 45", "bob", "create => bucket", exportTo("S3", `{`+s3+`,"aws_access_key_id":"AKIA","aws_secret_access_key":"hush"}`),
		`{"destination":{"config":{"bucket_name":"b","aws_access_key_id":"(absent)","aws_secret_access_key":"(absent)"}}}`},
	{"§6 row 45", "bob", "get <bucket>", ``, `{"destination":{"config":{"bucket_name":"b","aws_access_key_id":"(absent)","aws_secret_access_key":"(absent)"}}}`},
	{"§6 row 45 in lists", "bob", "list", ``, `{"count":1,"results":[{"destination":{"config":{"aws_access_key_id":"(absent)","aws_secret_access_key":"(absent)"}}}]}`},
	{"§6 row 45 in the log", "bob", "log BatchExport <bucket>", ``, `{"activity":"created","detail":{"changes":[
		{"field":"destination","after":{"config":{"bucket_name":"b","aws_access_key_id":"(absent)","aws_secret_access_key":"(absent)"}}},
		{"field":"interval"},{"field":"model"},{"field":"name"},{"field":"paused"},{"field":"team_id"},{"field":"timezone"}]}}`},
	{"§4.3.2 Postgres", "bob", "create => table", exportTo("Postgres", `{`+postgres+`}`), `{"destination":{"config":{"host":"db","database":"d","user":"(absent)","password":"(absent)"}}}`},
	{"§4.3.2 HTTP", "bob", "create => web", exportTo("HTTP", `{"url":"https://x.example","token":"hush"}`), `{"destination":{"config":{"url":"https://x.example","token":"(absent)"}}}`},
	{"§4.3.2 a change keeps them", "bob", "change <web>", `{"destination":{"config":{"exclude_events":["a"]}}}`, `{"destination":{"config":{"url":"https://x.example","exclude_events":["a"],"token":"(absent)"}}}`},
	{"§4.3.2 a change may bring others", "bob", "change <web>", `{"destination":{"config":{"token":"other"}}}`, `{"destination":{"config":{"token":"(absent)"}}}`},
	{"README: secrets go to no other place", "bob", "change <web>", `{"destination":{"config":{"url":"https://evil.example"}}}`, `400 invalid_input destination Changing 'url' requires 'token' again:`},
	{"README: secrets go to no other place", "bob", "change <web>", `{"destination":{"config":{"url":"https://y.example","token":"again"}}}`, `{"destination":{"config":{"url":"https://y.example"}}}`},
	{"README: secrets go to no other place", "bob", "change <table>", `{"destination":{"config":{"host":"evil"}}}`, `400 invalid_input destination Changing 'host' requires 'user', 'password' again:`},
	{"README: secrets go to no other place", "bob", "change <table>", `{"destination":{"config":{"port":6543,"user":"u"}}}`, `400 invalid_input destination Changing 'port' requires 'password' again:`},
	{"README: secrets go no less safely", "bob", "change <table>", `{"destination":{"config":{"sslmode":"disable"}}}`, `400 invalid_input destination Changing 'sslmode' requires 'user', 'password' again:`},
	{"§4.3.2 what is the default changes nothing", "bob", "change <table>", `{"destination":{"config":{"port":5432,"has_self_signed_cert":false}}}`, `{"destination":{"config":{"port":5432}}}`},
	{"README: secrets go to no other place", "bob", "change <bucket>", `{"destination":{"config":{"endpoint_url":"https://evil.example"}}}`, `400 invalid_input destination Changing 'endpoint_url' requires 'aws_access_key_id', 'aws_secret_access_key' again:`},
	{"README: secrets go to no other place", "bob", "change <bucket>", `{"destination":{"config":{"prefix":"q/"}}}`, `{"destination":{"config":{"prefix":"q/","bucket_name":"b"}}}`},
}
