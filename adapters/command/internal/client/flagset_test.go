package client

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// The requests of bunting flags set. From its help: it creates the flag, or changes the given parts;
// --rollout is the percentage of the first condition; --payload is JSON, or VARIANT=JSON; --off
// creates the flag disabled. A payload is stored as the text of JSON, and a change sends the version
// that was read, so that the server notices a change in between (spec/management.md §5.10).
func TestFlagSet_Requests(t *testing.T) {
	t.Parallel()
	const (
		find    = "GET /api/projects/1/feature_flags/?search=f&limit=500&offset=0"
		post    = "POST /api/projects/1/feature_flags/"
		patch   = "PATCH /api/projects/1/feature_flags/7/"
		all     = `"filters":{"groups":[{"properties":[],"rollout_percentage":100}]}`
		similar = `{"id":8,"key":"f2"},{"id":9,"key":"F"}`
	)
	old := `{"id":7,"key":"f","version":3,"filters":{"early_exit":true,"groups":[{"properties":[{"key":"a"}],"rollout_percentage":10},{"rollout_percentage":5}],"payloads":{"a":"1","true":"\"x\""}}}`
	rest := `"early_exit":true,`
	oldGroups := `"groups":[{"properties":[{"key":"a"}],"rollout_percentage":10},{"rollout_percentage":5}]`
	oldPayloads := `"payloads":{"a":"1","true":"\"x\""}`
	plain := `{"id":7,"key":"f","version":1,"filters":{"groups":[]}}`
	rows := map[string]struct {
		there string // the flags that the server finds
		args  []string
		stdin string
		want  string // the body
	}{
		"a new flag":                {"", nil, "", `{"active":true,` + all + `,"key":"f"}`},
		"a similar key":             {similar, nil, "", `{"active":true,` + all + `,"key":"f"}`},
		"a new flag that is off":    {"", []string{"--off"}, "", `{"active":false,` + all + `,"key":"f"}`},
		"a name":                    {"", []string{"--name", "A flag"}, "", `{"active":true,` + all + `,"key":"f","name":"A flag"}`},
		"a new flag's rollout":      {"", []string{"--rollout", "25"}, "", `{"active":true,"filters":{"groups":[{"properties":[],"rollout_percentage":25}]},"key":"f"}`},
		"only another name":         {old, []string{"--name", "B"}, "", `{"name":"B","version":3}`},
		"the first condition":       {old, []string{"--rollout", "20"}, "", `{"filters":{` + rest + `"groups":[{"properties":[{"key":"a"}],"rollout_percentage":20},{"rollout_percentage":5}],` + oldPayloads + `},"version":3}`},
		"the least rollout":         {plain, []string{"--rollout", "0"}, "", `{"filters":{"groups":[{"properties":[],"rollout_percentage":0}]},"version":1}`},
		"the largest rollout":       {plain, []string{"--rollout", "100"}, "", `{"filters":{"groups":[{"properties":[],"rollout_percentage":100}]},"version":1}`},
		"a percent sign":            {plain, []string{"--rollout", "12.5%"}, "", `{"filters":{"groups":[{"properties":[],"rollout_percentage":12.5}]},"version":1}`},
		"a tiny share":              {plain, []string{"--rollout", "0.0000001"}, "", `{"filters":{"groups":[{"properties":[],"rollout_percentage":1e-7}]},"version":1}`},
		"a flag without filters":    {`{"id":7,"key":"f","version":1}`, []string{"--rollout", "5"}, "", `{"filters":{"groups":[{"properties":[],"rollout_percentage":5}]},"version":1}`},
		"variants":                  {plain, []string{"--variants", "a=50, b=49.5,c=.5"}, "", `{"filters":{"groups":[],"multivariate":{"variants":[{"key":"a","name":"","rollout_percentage":50},{"key":"b","name":"","rollout_percentage":49.5},{"key":"c","name":"","rollout_percentage":0.5}]}},"version":1}`},
		"a payload":                 {plain, []string{"--payload", `{"b": [1, 2]}`}, "", `{"filters":{"groups":[],"payloads":{"true":"{\"b\": [1, 2]}"}},"version":1}`},
		"a payload that is text":    {plain, []string{"--payload", `"a=1"`}, "", `{"filters":{"groups":[],"payloads":{"true":"\"a=1\""}},"version":1}`},
		"a payload of a variant":    {plain, []string{"--payload", `red={"x=y":1}`}, "", `{"filters":{"groups":[],"payloads":{"red":"{\"x=y\":1}"}},"version":1}`},
		"payloads of two variants":  {plain, []string{"--payload", `red=1`, "--payload", "blue=2"}, "", `{"filters":{"groups":[],"payloads":{"blue":"2","red":"1"}},"version":1}`},
		"the other payloads stay":   {old, []string{"--payload", "b=2"}, "", `{"filters":{` + rest + oldGroups + `,"payloads":{"a":"1","b":"2","true":"\"x\""}},"version":3}`},
		"a payload is replaced":     {old, []string{"--payload", "2"}, "", `{"filters":{` + rest + oldGroups + `,"payloads":{"a":"1","true":"2"}},"version":3}`},
		"payloads that are null":    {`{"id":7,"key":"f","version":1,"filters":{"groups":[],"payloads":null}}`, []string{"--payload", "2"}, "", `{"filters":{"groups":[],"payloads":{"true":"2"}},"version":1}`},
		"filters replace all":       {old, []string{"--filters", "-"}, `{"groups":[{}]}`, `{"filters":{"groups":[{}]},"version":3}`},
		"filters and a rollout":     {old, []string{"--filters", "-", "--rollout", "1"}, `{"groups":[{}]}`, `{"filters":{"groups":[{"rollout_percentage":1}]},"version":3}`},
		"filters without groups":    {"", []string{"--filters", "-", "--rollout", "1"}, `{"x":1}`, `{"active":true,"filters":{"groups":[{"properties":[],"rollout_percentage":1}],"x":1},"key":"f"}`},
		"filters of a new flag":     {"", []string{"--filters", "-"}, `{}`, `{"active":true,"filters":{},"key":"f"}`},
		"several changes":           {plain, []string{"--rollout", "1", "--variants", "a=100", "--payload", "a=1", "--name", "N"}, "", `{"filters":{"groups":[{"properties":[],"rollout_percentage":1}],"multivariate":{"variants":[{"key":"a","name":"","rollout_percentage":100}]},"payloads":{"a":"1"}},"name":"N","version":1}`},
		"a deleted flag of the key": {`{"id":7,"key":"f","version":1,"deleted":true,"filters":{}}`, []string{"--name", "N"}, "", `{"name":"N","version":1}`},
	}
	commands := map[string]commandRow{}
	for name, row := range rows {
		there := []string{}
		if row.there != "" {
			there = append(there, row.there)
		}
		request := post
		if strings.Contains(row.want, `"version"`) {
			request = patch
		}
		commands[name] = commandRow{
			args: append([]string{"flags", "set", "f"}, row.args...), stdin: row.stdin,
			answers: map[string]string{find: cannedPage(there...), request: `{"id":7,"key":"f","active":true,"version":4,"filters":{}}`},
			sent:    []string{find, request + " " + row.want},
			stdout:  "KEY STATE WHO VARIANTS VERSION NAME\nf on nobody - 4 -", stderr: "in project 1 (Shop)\n",
		}
	}
	runCommandRows(t, []cli.Command{Flags}, commands)
}

// Invalid options are refused before anything is written, with a correct value.
func TestFlagSet_Refusals(t *testing.T) {
	t.Parallel()
	const find = "GET /api/projects/1/feature_flags/?search=f&limit=500&offset=0"
	const rollout = `flags: --rollout: must be a percentage from 0 to 100, not "`
	const variants = `flags: --variants: must be like control=50,test=50, not "`
	const payload = `flags: --payload: must be JSON or VARIANT=JSON, such as red='{"hex":"f00"}', not "`
	flag := `{"id":7,"key":"f","version":3,"filters":{"groups":[]}}`
	commands := map[string]commandRow{}
	for name, row := range map[string]struct {
		there string
		args  []string
		stdin string
		code  int
		want  string
	}{
		"nothing to change":        {flag, nil, "", 2, "flags: set: give what to change, such as --rollout 50\n"},
		"off does not change":      {flag, []string{"--off"}, "", 2, "flags: set: give what to change"},
		"below 0":                  {flag, []string{"--rollout", "-0.1"}, "", 2, rollout + `-0.1"`},
		"above 100":                {flag, []string{"--rollout", "100.1"}, "", 2, rollout + `100.1"`},
		"not a number":             {flag, []string{"--rollout", "half"}, "", 2, rollout + `half"`},
		"NaN":                      {flag, []string{"--rollout", "NaN"}, "", 2, rollout + `NaN"`},
		"infinite":                 {flag, []string{"--rollout", "inf"}, "", 2, rollout + `inf"`},
		"two percent signs":        {flag, []string{"--rollout", "5%%"}, "", 2, rollout + `5%%"`},
		"a variant without share":  {flag, []string{"--variants", "a=50,b"}, "", 2, variants + `b"`},
		"a variant without a key":  {flag, []string{"--variants", "=50"}, "", 2, variants + `=50"`},
		"a share that is text":     {flag, []string{"--variants", "a=all"}, "", 2, variants + `a=all"`},
		"a share that is NaN":      {flag, []string{"--variants", "a=NaN"}, "", 2, variants + `a=NaN"`},
		"an infinite share":        {flag, []string{"--variants", "a=1e999"}, "", 2, variants + `a=1e999"`},
		"a payload that is text":   {flag, []string{"--payload", "red"}, "", 2, payload + `red"`},
		"a variant's that is text": {flag, []string{"--payload", "red=blue"}, "", 2, payload + `red=blue"`},
		"a payload of no variant":  {flag, []string{"--payload", "=1"}, "", 2, payload + `=1"`},
		"an empty payload":         {flag, []string{"--payload", ""}, "", 2, payload + `"`},
		"filters that are a list":  {flag, []string{"--filters", "-"}, "[]", 1, "bunting: --filters: "},
		"filters that are null":    {flag, []string{"--filters", "-", "--rollout", "5"}, "null", 1, "bunting: --filters: must be a JSON object"},
		"filters with an error":    {flag, []string{"--filters", "-"}, "{", 1, "bunting: --filters: unexpected end of JSON input"},
		"no filters":               {flag, []string{"--filters", "-"}, "", 1, "bunting: --filters: unexpected end of JSON input"},
		"a file that is missing":   {flag, []string{"--filters", "/none/filters.json"}, "", 1, "no such file"},
		"conditions of null":       {`{"id":7,"key":"f","version":3,"filters":{"groups":[null]}}`, []string{"--rollout", "5"}, "", 1, "bunting: the flag's conditions cannot be read"},
		"conditions as an object":  {`{"id":7,"key":"f","version":3,"filters":{"groups":{}}}`, []string{"--rollout", "5"}, "", 1, "bunting: the flag's conditions cannot be read"},
		"payloads as a list":       {`{"id":7,"key":"f","version":3,"filters":{"payloads":[]}}`, []string{"--payload", "5"}, "", 1, "bunting: the flag's payloads cannot be read"},
		"a flag that is text":      {`"f"`, []string{"--rollout", "5"}, "", 1, "bunting: the server's response cannot be read: "},
	} {
		commands[name] = commandRow{
			args: append([]string{"flags", "set", "f"}, row.args...), stdin: row.stdin,
			answers: map[string]string{find: cannedPage(row.there)}, sent: []string{find}, code: row.code, stderr: row.want,
		}
	}
	runCommandRows(t, []cli.Command{Flags}, commands)
}

// The columns of a list of flags: the state, a summary of the conditions, and the variants.
func TestFlagView_Summary(t *testing.T) {
	t.Parallel()
	for filters, want := range map[string]struct{ who, variants string }{
		`{}`:                               {"nobody", ""},
		`{"groups":null}`:                  {"nobody", ""},
		`{"groups":[]}`:                    {"nobody", ""},
		`{"groups":"x"}`:                   {"nobody", ""},
		`{"groups":[{}]}`:                  {"100%", ""},
		`{"groups":[{"properties":null}]}`: {"100%", ""},
		`{"groups":[{"rollout_percentage":null}]}`:                                          {"100%", ""},
		`{"groups":[{"rollout_percentage":0}]}`:                                             {"0%", ""},
		`{"groups":[{"rollout_percentage":33.25}]}`:                                         {"33.25%", ""},
		`{"groups":[{"properties":[{}],"rollout_percentage":5}]}`:                           {"5% of 1 property", ""},
		`{"groups":[{"properties":[{},{}],"rollout_percentage":5},{}]}`:                     {"5% of 2 properties | 100%", ""},
		`{"multivariate":null}`:                                                             {"nobody", ""},
		`{"multivariate":{"variants":[]}}`:                                                  {"nobody", ""},
		`{"multivariate":{"variants":[{"key":"a","rollout_percentage":33.3},{"key":"b"}]}}`: {"nobody", "a=33.3,b=0"},
	} {
		f := flagView{Filters: decoded[map[string]json.RawMessage](t, filters)}
		if f.summary() != want.who || f.variants() != want.variants {
			t.Errorf("%s: %q, %q", filters, f.summary(), f.variants())
		}
	}
	for _, c := range []struct {
		active, deleted bool
		want            string
	}{{true, false, "on"}, {false, false, "off"}, {true, true, "deleted"}, {false, true, "deleted"}} {
		if f := (flagView{Active: c.active, Deleted: c.deleted}); f.state() != c.want {
			t.Errorf("active %v, deleted %v: %s", c.active, c.deleted, f.state())
		}
	}
}

// Flags are changed and deleted by key. Deleting is a change of the member deleted, which keeps the
// flag's history (spec/clients.md §1.3), and needs a confirmation.
func TestFlags_Changes(t *testing.T) {
	t.Parallel()
	const find = "GET /api/projects/1/feature_flags/?search=a+b%26c&limit=500&offset=0"
	flag := func(members string) string {
		return `{"id":7,"key":"a b&c","version":2,"filters":{"groups":[{}]}` + members + `}`
	}
	const patch = "PATCH /api/projects/1/feature_flags/7/"
	const table = "KEY STATE WHO VARIANTS VERSION NAME\na b&c "
	row := func(change, members, state string, args ...string) commandRow {
		return commandRow{
			args: args, answers: map[string]string{find: cannedPage(flag("")), patch: flag(members)},
			sent: []string{find, patch + " " + change}, stdout: table + state + " 100% - 2 -", stderr: "in project 1 (Shop)\n",
		}
	}
	rows := map[string]commandRow{
		"enable":                    row(`{"active":true}`, `,"active":true`, "on", "flags", "enable", "a b&c"),
		"disable":                   row(`{"active":false}`, ``, "off", "flags", "disable", "a b&c"),
		"delete":                    row(`{"deleted":true}`, `,"deleted":true`, "deleted", "flags", "delete", "a b&c", "--yes"),
		"delete without a terminal": {args: []string{"flags", "delete", "a b&c"}, code: 2, stderr: `flags: Delete the flag "a b&c" in project 1 (Shop)? There is no terminal to confirm this: add --yes`},
		"a refused change": {
			args: []string{"flags", "enable", "a b&c"}, answers: map[string]string{find: cannedPage(flag("")), patch: `409 {"detail":"changed meanwhile"}`},
			sent: []string{find, patch + ` {"active":true}`}, code: 1, stderr: "bunting: the server answered 409: changed meanwhile\n",
		},
	}
	runCommandRows(t, []cli.Command{Flags}, rows)
}
