package batchexports_test

import (
	"errors"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// Secrets are in no response, log or message, and runs get them as they were stored last (§4.3.2, §6
// row 45, README). "used" returns the settings that the last run got, and after "leak" the next attempt
// fails with a message.
func TestBatchExports_Secrets(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{"of runs": usedSecretRows, "addresses": addressRows, "messages": leakRows} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			calls := w.calls(t)
			calls["used"] = func(*management.Scope, string, string) (any, error) {
				return w.destination.jobs[len(w.destination.jobs)-1].Destination.Config, nil
			}
			calls["leak"] = func(_ *management.Scope, message, _ string) (any, error) {
				w.destination.fails = append(w.destination.fails, errors.New(message))
				return nil, nil
			}
			w.Run(t, calls, rows)
		})
	}
}

var usedSecretRows = []ruletest.Row{
	{"§4.3.2", "bob", "create => it", exportTo("Postgres", `{`+postgres+`}`), `{"destination":{"config":{"host":"db","user":"(absent)","password":"(absent)"}}}`},
	{"§6 row 45 at the level of the organization", "bob", "outsideget <it>", ``, `{"destination":{"config":{"host":"db","user":"(absent)","password":"(absent)"}}}`},
	{"§6 row 45 at the level of the organization", "bob", "outsidelist", ``, `{"results":[{"destination":{"config":{"user":"(absent)","password":"(absent)"}}}]}`},
	{"§4.3.2", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"§4.3.2", "bob", "work", ``, `["01-02T12:00 01-02T13:00:"]`},
	{"a run gets them", "bob", "used", ``, `{"host":"db","database":"d","user":"u","password":"secret"}`},
	{"§4.3.2 merges key by key", "bob", "change <it>", `{"destination":{"config":{"password":"other"}}}`, `{"destination":{"config":{"host":"db","password":"(absent)"}}}`},
	{"§2.5 PUT without them", "bob", "put <it>", `{"name":"y","interval":"hour","destination":{"type":"Postgres","config":{"host":"db","database":"e"}}}`, `{"destination":{"config":{"database":"e","password":"(absent)"}}}`},
	{"§4.3.2", "bob", "at 2026-01-02 14:00:30", ``, `null`},
	{"§4.3.2", "bob", "work", ``, `["01-02T12:00 01-02T13:00:","01-02T13:00 01-02T14:00:"]`},
	{"a run gets those of the last change", "bob", "used", ``, `{"host":"db","database":"e","user":"u","password":"other"}`},
	{"§4.3.2 a refused change", "bob", "change <it>", `{"destination":{"config":{"password":"third","port":"x"}}}`, `400 invalid_input destination Configuration has invalid type: got 'str', expected 'int'`},
	{"§4.3.2 required ones cannot be taken away", "bob", "change <it>", `{"destination":{"config":{"password":null}}}`, `400 invalid_input destination Configuration has invalid type: got 'NoneType', expected 'str'`},
	{"§4.3.2", "bob", "at 2026-01-02 15:00:30", ``, `null`},
	{"§4.3.2", "bob", "work", ``, `["01-02T12:00 01-02T13:00:","01-02T13:00 01-02T14:00:","01-02T14:00 01-02T15:00:"]`},
	{"§4.3.2 changes nothing", "bob", "used", ``, `{"password":"other","port":"(absent)"}`},
	{"§4.3.7 a test changes nothing", "bob", "test <it>", `{"destination":{"config":{"password":"tried"}}}`, `{"result":{"status":"Passed"}}`},
	{"§4.3.2", "bob", "at 2026-01-02 16:00:30", ``, `null`},
	{"§4.3.2", "bob", "work", ``, `["01-02T12:00 01-02T13:00:","01-02T13:00 01-02T14:00:","01-02T14:00 01-02T15:00:","01-02T15:00 01-02T16:00:"]`},
	{"§4.3.7 a test changes nothing", "bob", "used", ``, `{"password":"other"}`},
}

func addressFault(changed, missing string) string {
	return `400 invalid_input destination Changing ` + changed + ` requires ` + missing + ` again:`
}

// A change of where secrets are sent, or how safely, needs them in the same request (README). Other
// settings do not, nor does a value that is the default anyway.
var addressRows = []ruletest.Row{
	{"README", "bob", "create => table", exportTo("Postgres", `{`+postgres+`}`), `{"name":"x"}`},
	{"README host", "bob", "change <table>", `{"destination":{"config":{"host":"other","user":"u"}}}`, addressFault(`'host'`, `'password'`)},
	{"README several", "bob", "change <table>", `{"destination":{"config":{"host":"other","port":1}}}`, addressFault(`'host', 'port'`, `'user', 'password'`)},
	{"README has_self_signed_cert", "bob", "change <table>", `{"destination":{"config":{"has_self_signed_cert":true}}}`, addressFault(`'has_self_signed_cert'`, `'user', 'password'`)},
	{"README sslmode", "bob", "change <table>", `{"destination":{"config":{"sslmode":"prefer","password":"p"}}}`, addressFault(`'sslmode'`, `'user'`)},
	{"README defaults", "bob", "change <table>", `{"destination":{"config":{"port":"5432","sslmode":"require","has_self_signed_cert":"false"}}}`, `{"destination":{"config":{"port":5432,"sslmode":"require","has_self_signed_cert":false}}}`},
	{"README defaults", "bob", "change <table>", `{"destination":{"config":{"port":null,"sslmode":null,"has_self_signed_cert":null}}}`, `{"destination":{"config":{"port":null}}}`},
	{"README no address", "bob", "change <table>", `{"destination":{"config":{"database":"e","schema":"s","table_name":"t"}}}`, `{"destination":{"config":{"database":"e","schema":"s","table_name":"t"}}}`},
	{"README with them", "bob", "change <table>", `{"destination":{"config":{"host":"other","port":6543,"user":"u2","password":"p2"}}}`, `{"destination":{"config":{"host":"other","port":6543}}}`},
	{"§5.11 logged with the settings", "bob", "log BatchExport <table>", ``, `{"activity":"updated","detail":{"changes":[{"field":"destination"},{"field":"secrets_changed_at","before":null}]}}`},
	{"§5.11 a change of the secrets alone", "cyd", "change <table>", `{"destination":{"config":{"password":"p3"}}}`, `{"destination":{"config":{"password":"(absent)"}}}`},
	{"§5.11 is logged without them", "bob", "log BatchExport <table>", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"changes":[{"field":"secrets_changed_at","action":"changed"}]}}`},
	{"§5.11 the same secrets are no change", "bob", "change <table>", `{"destination":{"config":{"password":"p3","user":"u2"}}}`, `{"secrets_changed_at":"(absent)"}`},
	{"§5.11 the same secrets are no change", "bob", "log BatchExport <table>", ``, `{"user":{"first_name":"cyd"}}`},
	{"README back", "bob", "change <table>", `{"destination":{"config":{"port":5432}}}`, addressFault(`'port'`, `'user', 'password'`)},
	{"README PUT", "bob", "put <table>", exportTo("Postgres", `{"host":"third","database":"d"}`), addressFault(`'host'`, `'user', 'password'`)},
	{"README nothing was changed", "bob", "get <table>", ``, `{"destination":{"config":{"host":"other","port":6543,"database":"e"}}}`},

	{"README S3", "bob", "create => bucket", exportTo("S3", `{`+s3+`,"aws_access_key_id":"AKIA","aws_secret_access_key":"hush"}`), `{"name":"x"}`},
	{"README bucket_name", "bob", "change <bucket>", `{"destination":{"config":{"bucket_name":"c"}}}`, addressFault(`'bucket_name'`, `'aws_access_key_id', 'aws_secret_access_key'`)},
	{"README region", "bob", "change <bucket>", `{"destination":{"config":{"region":"eu-west-1","aws_secret_access_key":"hush"}}}`, addressFault(`'region'`, `'aws_access_key_id'`)},
	{"README an empty address is none", "bob", "change <bucket>", `{"destination":{"config":{"endpoint_url":""}}}`, `{"destination":{"config":{"endpoint_url":""}}}`},
	{"README an empty address is none", "bob", "change <bucket>", `{"destination":{"config":{"endpoint_url":null}}}`, `{"destination":{"config":{"endpoint_url":null}}}`},
	{"README no address", "bob", "change <bucket>", `{"destination":{"config":{"prefix":"q/","compression":"gzip","encryption":"AES256","max_file_size_mb":5}}}`, `{"destination":{"config":{"prefix":"q/"}}}`},
	{"README optional secrets may go instead", "bob", "change <bucket>", `{"destination":{"config":{"bucket_name":"c","aws_access_key_id":null,"aws_secret_access_key":null}}}`, `{"destination":{"config":{"bucket_name":"c"}}}`},
	{"§4.3.7 then it is not configured", "bob", "test <bucket>", ``, `{"result":{"status":"Failed","message":"The test step cannot run as it's not configured."}}`},
	{"README without secrets the address is free", "bob", "change <bucket>", `{"destination":{"config":{"bucket_name":"d","region":"eu-west-1","endpoint_url":"https://s3.example"}}}`, `{"destination":{"config":{"bucket_name":"d","region":"eu-west-1"}}}`},

	{"README HTTP", "bob", "create => web", exportTo("HTTP", `{"url":"https://x.example/a","token":"hush"}`), `{"name":"x"}`},
	{"README the whole address counts", "bob", "change <web>", `{"destination":{"config":{"url":"https://x.example/b"}}}`, addressFault(`'url'`, `'token'`)},
	{"README the same one", "bob", "change <web>", `{"destination":{"config":{"url":"https://x.example/a"}}}`, `{"destination":{"config":{"url":"https://x.example/a"}}}`},
	{"README Files have no secrets", "bob", "create => folder", files(``), `{"name":"x"}`},
	{"README Files have no secrets", "bob", "change <folder>", `{"destination":{"config":{"path":"g"}}}`, `{"destination":{"config":{"path":"g"}}}`},
}

var leakRows = []ruletest.Row{
	{"§4.3.2", "bob", "create => it", exportTo("Postgres", `{"user":"annika","password":"p ss&word","host":"db","database":"annikas"}`), `{"name":"x"}`},
	{"README", "bob", "leak postgres://annika:p+ss%26word@db: no p ss&word", ``, `null`},
	{"README", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"README", "bob", "work", ``, `[]`},
	{"README also as in an address", "bob", "newest <it> => run", ``, `{"status":"Running","latest_error":"postgres://***:***@db: no ***"}`},
	{"README in the log of the run", "bob", "runlog <it> <run>", ``, `{"count":2,"results":[{"level":"INFO"},{"level":"WARNING","message":"(like) postgres://\\*\\*\\*:\\*\\*\\*@db: no \\*\\*\\*$"}]}`},
	{"README in the list of runs", "bob", "runs <it>", ``, `{"results":[{"latest_error":"postgres://***:***@db: no ***"}]}`},
	{"README the export", "bob", "get <it>", ``, `{"latest_runs":[{"latest_error":"postgres://***:***@db: no ***"}]}`},
}
