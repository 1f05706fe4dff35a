package client

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/flags/wire"
)

const (
	rolloutList    = "/api/projects/1/guarded_rollouts/"
	rolloutHeading = "ROLLOUT FLAG STATUS STEP SHARE NEXT REASONS\n"
	rolloutAnswer  = `{"id":5,"feature_flag":7,"status":"running","step":0,"steps":[{"percent":1},{"percent":12.5}],"next_at":"T"}`
	rolloutLine    = rolloutHeading + "5 7 running 1 of 2 1% T -"
)

// Each action on a rollout is a request of its own. Going back and giving up need a confirmation;
// aborting restores the flag's percentage without --keep.
func TestRollouts_Actions(t *testing.T) {
	t.Parallel()
	row := func(request, body string, args ...string) commandRow {
		r := commandRow{args: append([]string{"rollout"}, args...), answers: map[string]string{request: rolloutAnswer}, sent: []string{strings.TrimSpace(request + " " + body)}, stdout: rolloutLine, stderr: "in project 1 (Shop)\n"}
		if strings.HasPrefix(request, "GET") {
			r.stderr = ""
		}
		return r
	}
	post := "POST " + rolloutList + "5/"
	runCommandRows(t, []cli.Command{Rollout}, map[string]commandRow{
		"status":               row("GET "+rolloutList+"5/", "", "status", "5"),
		"an id with a slash":   row("GET "+rolloutList+"5%2F..%2F6/", "", "status", "5/../6"),
		"start":                row(post+"start/", `{}`, "start", "5"),
		"pause":                row(post+"pause/", `{"reason":""}`, "pause", "5"),
		"pause with a reason":  row(post+"pause/", `{"reason":"lunch"}`, "pause", "5", "--reason", "lunch"),
		"resume":               row(post+"resume/", `{"accept_flag":false}`, "resume", "5"),
		"resume with the flag": row(post+"resume/", `{"accept_flag":true}`, "resume", "5", "--accept-flag"),
		"advance":              row(post+"advance/", `{"reason":"ok"}`, "advance", "5", "--reason", "ok"),
		"roll back":            row(post+"rollback/", `{"reason":"slow"}`, "rollback", "5", "--yes", "--reason", "slow"),
		"abort":                row(post+"abort/", `{"reason":""}`, "abort", "5", "--yes"),
		"abort and keep":       row(post+"abort/", `{"reason":"","restore":false}`, "abort", "5", "--yes", "--keep"),
		"roll back unasked":    {args: []string{"rollout", "rollback", "5"}, code: 2, stderr: "rollout: Roll back the rollout 5 in project 1 (Shop)? There is no terminal to confirm this: add --yes"},
		"abort unasked":        {args: []string{"rollout", "abort", "5"}, code: 2, stderr: "rollout: Abort the rollout 5 in project 1 (Shop)?"},
		"no confirmation":      {args: []string{"rollout", "pause", "5", "--yes"}, code: 2, stderr: "there is no option --yes"},
		"keep of others":       {args: []string{"rollout", "rollback", "5", "--keep"}, code: 2, stderr: "there is no option --keep"},
		"no such rollout":      {args: []string{"rollout", "start", "6"}, sent: []string{"POST " + rolloutList + "6/start/ {}"}, code: 1, stderr: "bunting: the server answered 404: Not found.\n"},
	})
}

// The list: of all flags, or of one flag by its key or id.
func TestRollouts_List(t *testing.T) {
	t.Parallel()
	const find = "GET /api/projects/1/feature_flags/?search=f&limit=500&offset=0"
	other := `{"id":4,"feature_flag":8,"status":"rolled_back","step":2,"steps":[{"percent":1}],"reasons":["harm","srm"]}`
	runCommandRows(t, []cli.Command{Rollout}, map[string]commandRow{
		"all": {
			args: []string{"rollout", "list"}, answers: map[string]string{"GET " + rolloutList + "?limit=500&offset=0": cannedPage(rolloutAnswer, other, `{"id":3,"feature_flag":8,"status":"draft"}`)},
			sent: []string{"GET " + rolloutList + "?limit=500&offset=0"}, stdout: rolloutLine + "\n4 8 rolled_back - - - harm, srm\n3 8 draft - - - -",
		},
		"of a flag": {
			args: []string{"rollout", "list", "--flag", "f"}, answers: map[string]string{find: cannedPage(`{"id":7,"key":"f"}`), "GET " + rolloutList + "?feature_flag=7&limit=500&offset=0": cannedPage(rolloutAnswer)},
			sent: []string{find, "GET " + rolloutList + "?feature_flag=7&limit=500&offset=0"}, stdout: rolloutLine,
		},
		"of no flag": {args: []string{"rollout", "list", "--flag", "f"}, answers: map[string]string{find: cannedPage()}, sent: []string{find}, code: 1, stderr: `flag "f": there is no such flag`},
	})
}

// The definition is a JSON object, in which the flag may be a key. The request of a dry run has
// the assumed start of the step.
func TestRollouts_Definitions(t *testing.T) {
	t.Parallel()
	const find = "GET /api/projects/1/feature_flags/?search=f&limit=500&offset=0"
	const judged = `{"decision":"rollback","reasons":["harm"],"percent":12.5,"matured":{"treatment":100,"control":90},
		"guardrails":[{"name":"errors","treatment_mean":0.123456,"control_mean":0.1,"bound":0.02,"regression":true},{"name":"no data","error":"too few"}],
		"signals":[{"name":"speed","treatment_mean":1e6,"control_mean":null,"regression":false}]}`
	const table = "rollback: harm, at 12.5% with 100 and 90 exposures\nMETRIC TREATMENT CONTROL WORSE BY AT LEAST HARMED\nerrors 0.1235 0.1 0.02 yes\nno data - - - too few\nspeed 1e+06 - - no"
	flag := cannedPage(`{"id":7,"key":"f"}`)
	const must = "bunting: -: must be a JSON object with feature_flag, steps and guardrails\n"
	rows := map[string]commandRow{
		"a key": {
			args: []string{"rollout", "create", "-"}, stdin: `{"feature_flag":"f","steps":[]}`, answers: map[string]string{find: flag, "POST " + rolloutList: rolloutAnswer},
			sent: []string{find, "POST " + rolloutList + ` {"feature_flag":7,"steps":[]}`}, stdout: rolloutLine, stderr: "in project 1 (Shop)\n",
		},
		"an id": {
			args: []string{"rollout", "create", "-"}, stdin: `{"feature_flag":7}`, answers: map[string]string{"POST " + rolloutList: rolloutAnswer},
			sent: []string{"POST " + rolloutList + ` {"feature_flag":7}`}, stdout: rolloutLine, stderr: "in project 1 (Shop)\n",
		},
		"no such key": {args: []string{"rollout", "create", "-"}, stdin: `{"feature_flag":"f"}`, answers: map[string]string{find: cannedPage()}, sent: []string{find}, code: 1, stderr: `flag "f": there is no such flag`},
		"a dry run": {
			args: []string{"rollout", "dry-run", "-", "--from", "2026-01-31"}, stdin: `{"feature_flag":7,"step":9}`, answers: map[string]string{"POST " + rolloutList + "dry_run/": judged},
			sent: []string{"POST " + rolloutList + `dry_run/ {"feature_flag":7,"started_at":"2026-01-31","step":0}`}, stdout: table,
		},
		"a dry run of a step": {
			args: []string{"rollout", "dry-run", "-", "--from", "A", "--until", "B", "--step", "2"}, stdin: `{}`, answers: map[string]string{"POST " + rolloutList + "dry_run/": `{"decision":"hold","matured":{}}`},
			sent: []string{"POST " + rolloutList + `dry_run/ {"as_of":"B","started_at":"A","step":2}`}, stdout: "hold, at 0% with 0 and 0 exposures\nMETRIC TREATMENT CONTROL WORSE BY AT LEAST HARMED",
		},
		"a dry run from when": {args: []string{"rollout", "dry-run", "-"}, stdin: `{}`, code: 2, stderr: "rollout: dry-run: give the start of the step with --from TIME\n"},
	}
	for _, text := range []string{"", "[]", "null", `"f"`, "{", `{"a":1}{}`, `{"x":"` + strings.Repeat("x", maxDefinition) + `"}`} {
		rows["refused: "+text[:min(len(text), 10)]] = commandRow{args: []string{"rollout", "create", "-"}, stdin: text, code: 1, stderr: must}
	}
	runCommandRows(t, []cli.Command{Rollout}, rows)
}

// The distributions of --values, in the help's words: rate:0.02 for shares, mean:10:4 for a mean
// and its standard deviation, count:0.5 for counts; separated by commas.
func TestRollouts_Laws(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"rate:0.02":                      `[{"kind":"rate","rate":0.02}]`,
		"mean:10:4":                      `[{"kind":"mean","mean":10,"sd":4}]`,
		"count:0.5":                      `[{"kind":"count","mean":0.5}]`,
		"rate:0, mean:-1:2.5 ,count:1e3": `[{"kind":"rate","rate":0},{"kind":"mean","mean":-1,"sd":2.5},{"kind":"count","mean":1000}]`,
		"":                               "",
		"rate":                           "",
		"rate:":                          "",
		"rate:1:2":                       "",
		"mean:1":                         "",
		"mean:1:2:3":                     "",
		"sum:1":                          "",
		"Rate:1":                         "",
		"rate:a":                         "",
		"rate:NaN":                       "",
		"mean:1:Inf":                     "",
		"rate:1,":                        "",
		"rate :1":                        "",
	} {
		laws, err := parseLaws(text)
		got := ""
		if err == nil {
			got = strings.TrimSpace(string(wire.MustEncode(laws)))
		}
		if got != want || err != nil && !strings.HasPrefix(err.Error(), "rollout: simulate: \"") {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
}

// A simulation: how likely a rollout is rolled back for harms of several sizes.
func TestRollouts_Simulate(t *testing.T) {
	t.Parallel()
	const request = "POST " + rolloutList + "simulate/"
	const answer = `{"effects":[{"effect":0,"rollback_rate":0.012345,"rollback_rate_upper":0.05,"by_step":[0.01,0]},
		{"effect":0.5,"rollback_rate":1,"rollback_rate_upper":1,"median_entities":12345678,"median_seconds":5400,"by_step":[1]}],"srm_false_hold_rate":0.001}`
	const table = "HARM ROLLED BACK AT MOST AFTER HOURS BY STEP\n+0.00% 1.23% 5.00% - - 1.00% 0.00%\n+50.00% 100.00% 100.00% 1.235e+07 1.5 100.00%\nheld without cause: 0.10%"
	const needs = "rollout: simulate: give --per-day N and --values LIST, such as --values rate:0.02\n"
	simulate := func(body string, args ...string) commandRow {
		return commandRow{args: append([]string{"rollout", "simulate", "-"}, args...), stdin: `{"feature_flag":7}`, answers: map[string]string{request: answer}, sent: []string{request + " " + body}, stdout: table}
	}
	usageError := func(want string, args ...string) commandRow {
		return commandRow{args: append([]string{"rollout", "simulate", "-"}, args...), stdin: `{}`, code: 2, stderr: want}
	}
	runCommandRows(t, []cli.Command{Rollout}, map[string]commandRow{
		"by default":       simulate(`{"definition":{"feature_flag":7},"effects":[0,0.5,1],"entities_per_day":1,"metrics":[{"kind":"rate","rate":0.02}],"runs":1000}`, "--per-day", "1", "--values", "rate:0.02"),
		"all options":      simulate(`{"definition":{"feature_flag":7},"effects":[0.25],"entities_per_day":500,"metrics":[{"kind":"count","mean":2}],"runs":10}`, "--per-day", "500", "--values", "count:2", "--effects", "0.25", "--runs", "10"),
		"no effects":       simulate(`{"definition":{"feature_flag":7},"effects":[],"entities_per_day":1,"metrics":[{"kind":"count","mean":2}],"runs":1000}`, "--per-day", "1", "--values", "count:2", "--effects", ""),
		"nobody per day":   usageError(needs, "--values", "rate:0.02"),
		"none per day":     usageError(needs, "--values", "rate:0.02", "--per-day", "0"),
		"no values":        usageError(needs, "--per-day", "1"),
		"a bad law":        usageError(`rollout: simulate: "rate" is not rate:SHARE, mean:MEAN:DEVIATION or count:MEAN`, "--per-day", "1", "--values", "rate"),
		"a bad number":     usageError(`rollout: simulate: "x" is not a number`, "--per-day", "1", "--values", "rate:x"),
		"a bad effect":     usageError("rollout: simulate: --effects must be numbers separated by commas, such as 0,0.5,1\n", "--per-day", "1", "--values", "rate:1", "--effects", "half"),
		"a comma too many": usageError("--effects must be numbers", "--per-day", "1", "--values", "rate:1", "--effects", "0,"),
	})
}
