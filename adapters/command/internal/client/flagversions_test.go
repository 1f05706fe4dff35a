package client

import (
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// The history of a flag is found by its key, or by its id, which also finds deleted flags. The
// first version is listed as made, unless the server has removed earlier versions.
func TestFlagVersions_History(t *testing.T) {
	t.Parallel()
	const (
		byKey    = "GET /api/projects/1/feature_flags/?search=f&limit=500&offset=0"
		byNumber = "GET /api/projects/1/feature_flags/?search=7&limit=500&offset=0"
		byID     = "GET /api/projects/1/feature_flags/7/"
		list     = "GET /api/projects/1/feature_flags/7/versions/?limit=500&offset=0"
		heading  = "VERSION WHEN BY STATE WHO VARIANTS CHANGED\n"
	)
	flag := `{"id":7,"key":"f"}`
	first := `{"version":1,"created_at":"T1","key":"f","filters":{"groups":[{}]}}`
	second := `{"version":2,"created_at":"T2","created_by":{"email":"a@b.c"},"key":"f","active":true,"filters":{"groups":[{"rollout_percentage":5}]},"tags":["x"]}`
	third := `{"version":3,"created_at":"T3","created_by":{"email":"a@b.c"},"key":"g","active":true,"deleted":true,"name":"N","filters":{"groups":[{"rollout_percentage":5}]},"tags":["x"]}`
	const twoRows = "3 T3 a@b.c deleted 5% deleted, key, name\n2 T2 a@b.c on 5% "
	runCommandRows(t, []cli.Command{Flags}, map[string]commandRow{
		"all versions": {
			args: []string{"flags", "history", "f"}, answers: map[string]string{byKey: cannedPage(flag), list: cannedPage(third, second, first)},
			sent: []string{byKey, list}, stdout: heading + twoRows + "active, groups, tags\n1 T1 - off 100% made",
		},
		"the first ones are gone": {
			args: []string{"flags", "history", "f"}, answers: map[string]string{byKey: cannedPage(flag), list: cannedPage(third, second)},
			sent: []string{byKey, list}, stdout: heading + twoRows + "-",
		},
		"by id": {
			args: []string{"flags", "history", "7"}, answers: map[string]string{byNumber: cannedPage(), byID: `{"id":7,"key":"f","deleted":true}`, list: cannedPage(first)},
			sent: []string{byNumber, byID, list}, stdout: heading + "1 T1 - off 100% made",
		},
		"a key that is a number": {
			args: []string{"flags", "history", "7"}, answers: map[string]string{byNumber: cannedPage(`{"id":7,"key":"7"}`), list: cannedPage(first)},
			sent: []string{byNumber, list}, stdout: heading + "1 T1 - off 100% made",
		},
		"neither":     {args: []string{"flags", "history", "7"}, answers: map[string]string{byNumber: cannedPage()}, sent: []string{byNumber, byID}, code: 1, stderr: `bunting: flag "7": there is no such flag`},
		"no such key": {args: []string{"flags", "history", "f"}, answers: map[string]string{byKey: cannedPage()}, sent: []string{byKey}, code: 1, stderr: `bunting: flag "f": there is no such flag`},
		"no such id":  {args: []string{"flags", "history", "0"}, answers: map[string]string{"GET /api/projects/1/feature_flags/?search=0&limit=500&offset=0": cannedPage()}, sent: []string{"GET /api/projects/1/feature_flags/?search=0&limit=500&offset=0"}, code: 1, stderr: `flag "0"`},
		"restore": {
			args: []string{"flags", "restore", "f", "2"}, answers: map[string]string{byKey: cannedPage(flag), "POST /api/projects/1/feature_flags/7/restore/": `{"key":"f","version":4}`},
			sent: []string{byKey, `POST /api/projects/1/feature_flags/7/restore/ {"version":2}`}, stdout: "KEY STATE WHO VARIANTS VERSION NAME\nf off nobody - 4 -", stderr: "in project 1 (Shop)\n",
		},
		"restore no number": {args: []string{"flags", "restore", "f", "last"}, code: 2, stderr: `flags: restore: the version must be a number from bunting flags history, not "last"`},
	})
}

// A pinned value is for one person or group. true and false are booleans, every other value is a
// variant, and the end is sent in UTC.
func TestFlagPins_Requests(t *testing.T) {
	t.Parallel()
	const (
		find    = "GET /api/projects/1/feature_flags/?search=f&limit=500&offset=0"
		pins    = "/api/projects/1/feature_flags/7/pins/"
		heading = "PIN FOR VALUE UNTIL NOTE BY\n"
		oneOf   = "flags: pin: give one of --distinct-id ID, --person UUID and --group TYPE=KEY\n"
	)
	found := map[string]string{find: cannedPage(`{"id":7,"key":"f"}`), "POST " + pins: `{"id":3,"person":{"name":"Ann"},"value":true}`}
	pin := func(want string, args ...string) commandRow {
		return commandRow{
			args: append([]string{"flags", "pin", "f"}, args...), answers: found, sent: []string{find, "POST " + pins + " " + want},
			stdout: heading + "3 Ann true - - -", stderr: "in project 1 (Shop)\n",
		}
	}
	runCommandRows(t, []cli.Command{Flags}, map[string]commandRow{
		"true":         pin(`{"distinct_id":"u","note":"","value":true}`, "true", "--distinct-id", "u"),
		"false":        pin(`{"note":"","person_id":"p","value":false}`, "false", "--person", "p"),
		"a variant":    pin(`{"group":{"key":"a=b","type":"company"},"note":"","value":"True"}`, "True", "--group", "company=a=b"),
		"a note":       pin(`{"distinct_id":"u","note":"why","value":"1"}`, "1", "--distinct-id", "u", "--note", "why"),
		"an end":       pin(`{"distinct_id":"u","expires_at":"2026-01-31T00:00:00Z","note":"","value":true}`, "true", "--distinct-id", "u", "--until", "2026-01-31"),
		"nobody":       {args: []string{"flags", "pin", "f", "true"}, code: 2, stderr: oneOf},
		"two ids":      {args: []string{"flags", "pin", "f", "true", "--distinct-id", "u", "--person", "p"}, code: 2, stderr: oneOf},
		"two groups":   {args: []string{"flags", "pin", "f", "true", "--group", "a=1", "--group", "b=2"}, code: 2, stderr: oneOf},
		"a bad group":  {args: []string{"flags", "pin", "f", "true", "--group", "acme"}, code: 2, stderr: "flags: --group: must be type=key, such as company=acme, not \"acme\"\n"},
		"a bad end":    {args: []string{"flags", "pin", "f", "true", "--distinct-id", "u", "--until", "soon"}, code: 2, stderr: `flags: --until: must be a duration or time such as 48h, 2026-01-31 or 2026-01-31T09:00:00Z, not "soon"`},
		"no such flag": {args: []string{"flags", "pin", "f", "true", "--distinct-id", "u"}, answers: map[string]string{find: cannedPage()}, sent: []string{find}, code: 1, stderr: `flag "f"`},
		"the list": {
			args: []string{"flags", "pins", "f"},
			answers: map[string]string{find: cannedPage(`{"id":7,"key":"f"}`), "GET " + pins + "?limit=500&offset=0": cannedPage(
				`{"id":3,"person":{"name":"Ann"},"value":"red","note":"why\tso","expires_at":"T","created_by":{"email":"a@b.c"}}`,
				`{"id":2,"group":{"type":"company","key":"acme"},"value":false}`, `{"id":1,"value":true}`)},
			sent: []string{find, "GET " + pins + "?limit=500&offset=0"}, stdout: heading + "3 Ann red T why so a@b.c\n2 company=acme false - - -\n1 - true - - -",
		},
		"unpin": {
			args: []string{"flags", "unpin", "f", "3"}, answers: map[string]string{find: cannedPage(`{"id":7,"key":"f"}`), "DELETE " + pins + "3/": "204 "},
			sent: []string{find, "DELETE " + pins + "3/"}, stderr: "in project 1 (Shop)\n",
		},
		"unpin no number": {args: []string{"flags", "unpin", "f", "../.."}, code: 2, stderr: `flags: unpin: the pin must be a number from bunting flags pins, not "../.."`},
	})
}

// The end of a pin is a duration from now, a date or a time.
func TestFlagPins_End(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 29, 0, 30, 0, 0, time.FixedZone("", 3600)) // 23:30 UTC of the day before
	for text, want := range map[string]string{
		"1s": "2026-03-28T23:30:01Z", "48h": "2026-03-30T23:30:00Z", "1h30m": "2026-03-29T01:00:00Z", "0.5h": "2026-03-29T00:00:00Z",
		"2026-01-31": "2026-01-31T00:00:00Z", "2028-02-29": "2028-02-29T00:00:00Z",
		"2026-01-31T09:00:00Z": "2026-01-31T09:00:00Z", "2026-01-31T09:00:00+02:00": "2026-01-31T07:00:00Z", "2026-01-31T00:00:00.9-01:00": "2026-01-31T01:00:00Z",
		"": "", "0s": "", "-2h": "", "2": "", "2d": "", "2026-1-31": "", "2026-02-29": "", "2026-01-31 09:00": "", "2026-01-31T09:00:00": "", "tomorrow": "",
	} {
		if got, err := pinEnd(text, now); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

// The request and the output of bunting flags why.
func TestFlagWhy(t *testing.T) {
	t.Parallel()
	const explain = "POST /api/projects/1/feature_flags/a%2Fb/explain/"
	why := func(want, answer, stdout string, args ...string) commandRow {
		return commandRow{
			args: append([]string{"flags", "why", "a/b"}, args...), answers: map[string]string{explain: answer},
			sent: []string{explain + " " + want}, stdout: stdout,
		}
	}
	const unidentified = `no person has the distinct id "u": evaluated for a person without stored data` + "\non\n"
	const never = "last given: no SDK has reported it"
	runCommandRows(t, []cli.Command{Flags}, map[string]commandRow{
		"a distinct id": why(`{"distinct_id":"u","groups":{},"person_properties":{}}`, `{"text":"on\n"}`, unidentified+never, "--distinct-id", "u"),
		"a person":      why(`{"groups":{},"person_id":"p","person_properties":{}}`, `{"person":{"uuid":"p","name":"Ann"},"text":"on\n"}`, "person p, Ann\non\n"+never, "--person", "p"),
		"no name":       why(`{"groups":{},"person_id":"p","person_properties":{}}`, `{"person":{"uuid":"p"},"text":"on\n"}`, "person p, without a name\non\n"+never, "--person", "p"),
		"properties": why(`{"distinct_id":"u","groups":{"company":"acme"},"person_properties":{"a":"b=c","n":1.5,"o":{"x":null}}}`, `{"text":"on\n"}`, unidentified+never,
			"--distinct-id", "u", "--property", "n=1.5", "--property", "a=b=c", "--property", `o={"x":null}`, "--group", "company=acme"),
		"a time and a version": why(`{"at":"2026-01-31","distinct_id":"u","groups":{},"person_properties":{},"version":3}`, `{"text":"on\n"}`, unidentified+never, "--distinct-id", "u", "--at", "2026-01-31", "--flag-version", "3"),
		"neither":              {args: []string{"flags", "why", "f"}, code: 2, stderr: "flags: why: give --distinct-id ID or --person UUID\n"},
		"both":                 {args: []string{"flags", "why", "f", "--distinct-id", "u", "--person", "p"}, code: 2, stderr: "flags: why: give --distinct-id ID or --person UUID\n"},
		"a property":           {args: []string{"flags", "why", "f", "--distinct-id", "u", "--property", "a"}, code: 2, stderr: "flags: --property: must be name=value, not \"a\"\n"},
	})
	for text, want := range map[string]string{
		`{}`:                                    never,
		`{"assigned":{"value":"red","at":"T"}}`: "last given: red at T",
		`{"assigned":{"value":true,"at":"T","version":3}}`:                           "last given: true at T, version 3",
		`{"assigned":{"value":false,"at":"T"},"differs":"pinned"}`:                   "last given: false at T; another value: a value is pinned",
		`{"assigned":{"value":false,"at":"T","version":1},"differs":"flag_changed"}`: "last given: false at T, version 1; another value: the flag has changed",
		`{"assigned":{"value":false,"at":"T"},"differs":"other_id"}`:                 "last given: false at T; another value: the request had another distinct id",
		`{"assigned":{"value":false,"at":"T"},"differs":"person_changed"}`:           "last given: false at T; another value: the person has changed",
		`{"assigned":{"value":false,"at":"T"},"differs":"supplied"}`:                 "last given: false at T; another value: properties were given on the command line",
		`{"assigned":{"value":false,"at":"T"},"differs":"a later server's"}`:         "last given: false at T; another value: the reason is unknown",
		`{"assigned":{"value":"two\u000alines","at":"T"}}`:                           "last given: two lines at T",
	} {
		e := decoded[explanation](t, text)
		if got := e.lastValue(); got != want+"\n" {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// How often a flag was called: a row for each period, a column for each value, and their sums. The
// number of people of a period that has too many has no sum.
func TestFlagCalls(t *testing.T) {
	t.Parallel()
	const find = "GET /api/projects/1/feature_flags/?search=f&limit=500&offset=0"
	const path = "GET /api/projects/1/feature_flags/7/exposures/?"
	answer := `{"labels":["Mon","Tue"],"series":[{"value":"true","data":[1,2],"total":3},{"value":"","data":[4],"total":null}]}`
	calls := func(query string, args ...string) commandRow {
		return commandRow{
			args: append([]string{"flags", "calls", "f"}, args...), answers: map[string]string{find: cannedPage(`{"id":7,"key":"f"}`), path + query: answer},
			sent: []string{find, path + query}, stdout: "SINCE true -\nMon 1 4\nTue 2 -\ntotal 3 too many",
		}
	}
	runCommandRows(t, []cli.Command{Flags}, map[string]commandRow{
		"by default": calls("count=calls&date_from=-7d&interval=day"),
		"people":     calls("count=people&date_from=-1h&interval=minute", "--count", "people", "--from", "-1h", "--interval", "minute"),
	})
}
