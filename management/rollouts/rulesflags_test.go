package rollouts_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// The flags that a rollout may use, the values that its steps write, and the hashes of its arms:
// experiments.md §4.3, §4.4.
func TestRollouts_Flags(t *testing.T) {
	askRollouts(t, map[string][]ruletest.Row{
		"states": unsupportedFlagRows, "conditions": comparedConditionRows, "variants": comparedVariantRows, "experiments": rolloutExperimentRows,
		"condition": writtenConditionRows, "variants written": writtenVariantRows, "zero": zeroRows, "not higher": notHigherRows, "groups": groupRolloutRows, "queries": rolloutQueryRows, "hashes": rolloutHashRows,
	})
}

// variantFlag returns the body of a flag with variants, each with its share, such as "a 10".
func variantFlag(key string, variants ...string) string {
	list := make([]string, len(variants))
	for i, v := range variants {
		name, share, _ := strings.Cut(v, " ")
		list[i] = fmt.Sprintf(`{"key":%q,"rollout_percentage":%s}`, name, share)
	}
	return fmt.Sprintf(`{"key":%q,"filters":{"groups":[{"properties":[],"rollout_percentage":100}],"multivariate":{"variants":[%s]}}}`, key, strings.Join(list, ","))
}

// shares returns the part of a flag in responses that has its variants.
func shares(percentages ...string) string {
	for i := range percentages {
		percentages[i] = `{"rollout_percentage":` + percentages[i] + `}`
	}
	return `{"filters":{"multivariate":{"variants":[` + strings.Join(percentages, ",") + `]}}}`
}

var unsupportedFlagRows = []ruletest.Row{
	{"§4.3", "bob", "create", `{"key":"a","active":false}`, `{"id":1}`},
	{"§4.3", "bob", "change 1", `{"archived":true}`, `{"archived":true}`},
	{"§4.3 archived", "bob", "rollout", guardedRollout(1), `400 not_comparable feature_flag The flag is archived.`},
	{"§4.3", "bob", "change 1", `{"archived":false,"deleted":true}`, `{"deleted":true}`},
	{"§4.3 deleted", "bob", "rollout", guardedRollout(1), `400 does_not_exist feature_flag The project has no feature flag 1.`},
	{"§4.3", "bob", "create", `{"key":"b","is_remote_configuration":true}`, `{"id":2}`},
	{"§4.3 remote configuration", "bob", "rollout", guardedRollout(2), `400 not_comparable feature_flag The flag is a remote configuration:`},
	{"§4.3", "bob", "change 2", `{"is_remote_configuration":false,"bucketing_identifier":"device_id"}`, `{"id":2}`},
	{"§4.3 by device", "bob", "rollout", guardedRollout(2), `400 not_comparable feature_flag The flag is bucketed by device,`},
	{"§4.3", "bob", "change 2", `{"bucketing_identifier":null,"ensure_experience_continuity":true}`, `{"id":2}`},
	{"§4.3 continuity", "bob", "rollout", guardedRollout(2), `400 not_comparable feature_flag The flag ensures experience continuity,`},
	{"§4.3", "bob", "change 2", `{"ensure_experience_continuity":false,"active":false}`, `{"id":2}`},
	{"§4.3 inactive is no reason: it holds only (§4.7)", "bob", "rollout", guardedRollout(2), `{"id":1,"status":"draft"}`},
	{"§4.3 checked at the start again", "bob", "change 2", `{"archived":true}`, `{"archived":true}`},
	{"§4.3 checked at the start again", "bob", "call 1 start", ``, `400 not_comparable feature_flag The flag is archived.`},
	{"§4.3 a refusal changes nothing", "bob", "getrollout 1", ``, `{"status":"draft","step":null,"percent_before":null,"started_at":null,"state_version":0}`},
	{"§4.3 a refusal changes nothing", "bob", "rollout", guardedRollout(2, started), `400 not_comparable feature_flag`},
	{"§4.3 a refusal changes nothing", "bob", "rollouts", ``, `{"count":1,"ids":[1]}`},
}

// conditions returns the body of flag f with these conditions and other members of its filters.
func conditions(list string, more ...string) string {
	body := `{"key":"f","filters":{"groups":[` + list + `]`
	for _, m := range more {
		body += "," + m
	}
	return body + `}}`
}

var comparedConditionRows = []ruletest.Row{
	{"§4.3", "bob", "create", conditions(`{"properties":[` + flagtest.Plan + `],"rollout_percentage":0}`), `{"id":1}`},
	{"§4.3 properties", "bob", "rollout", guardedRollout(1), `400 not_comparable condition Persons outside the condition would count as control. Add two variants to the flag instead:`},
	{"§4.3", "bob", "change 1", conditions(`{"properties":[],"rollout_percentage":0},{"properties":[` + flagtest.Plan + `]}`), `{"id":1}`},
	{"§4.3 the only condition", "bob", "rollout", guardedRollout(1), `400 not_comparable condition Without variants, the flag must have exactly one condition:`},
	{"§4.3", "bob", "change 1", conditions(``), `{"id":1}`},
	{"§4.3 no condition", "bob", "rollout", guardedRollout(1), `400 not_comparable condition Without variants, the flag must have exactly one condition:`},
	{"§4.3", "bob", "change 1", conditions(`{"properties":[],"rollout_percentage":0}`), `{"id":1}`},
	{"§4.3 condition 0", "bob", "rollout", guardedRollout(1, `"condition":1`), `400 not_comparable condition`},
	{"§4.3 no variants to name", "bob", "rollout", guardedRollout(1, `"control_variant":"a"`), `400 not_comparable treatment_variant The flag has no variants:`},
	{"§4.3 persons and groups", "bob", "change 1", conditions(`{"properties":[],"rollout_percentage":0,"aggregation_group_type_index":0},{"properties":[]}`), `{"id":1}`},
	{"§4.3 persons and groups", "bob", "rollout", guardedRollout(1), `400 not_comparable feature_flag Some conditions of the flag are about persons and others about groups:`},
	{"§4.3 groups and persons", "bob", "change 1", conditions(`{"properties":[],"rollout_percentage":0},{"properties":[],"aggregation_group_type_index":0}`), `{"id":1}`},
	{"§4.3 groups and persons", "bob", "rollout", guardedRollout(1), `400 not_comparable feature_flag Some conditions`},
	{"§4.3 as many as one likes with variants", "bob", "change 1", conditions(`{"properties":[`+flagtest.Plan+`]},{"properties":[],"rollout_percentage":20}`, `"multivariate":{"variants":[{"key":"a","rollout_percentage":100},{"key":"b","rollout_percentage":0}]}`), `{"id":1}`},
	{"§4.3 as many as one likes with variants", "bob", "rollout", guardedRollout(1), `{"treatment_variant":"b","control_variant":"a"}`},
}

var comparedVariantRows = []ruletest.Row{
	{"§4.3", "bob", "create", variantFlag("f", "a 10", "b 60", "c 30", "d 0"), `{"id":1}`},
	{"§4.3 which ones", "bob", "rollout", guardedRollout(1), `400 required treatment_variant The flag has variants: give the key of one of them.`},
	{"§4.3 which ones", "bob", "rollout", guardedRollout(1, `"control_variant":"a"`), `400 required treatment_variant`},
	{"§4.3 which ones", "bob", "rollout", guardedRollout(1, `"treatment_variant":"a"`), `400 required control_variant`},
	{"§4.3", "bob", "rollout", guardedRollout(1, `"treatment_variant":"x","control_variant":"y"`), `400 does_not_exist treatment_variant The feature flag has no variant "x".`},
	{"§4.3", "bob", "rollout", guardedRollout(1, `"treatment_variant":"a","control_variant":"y"`), `400 does_not_exist control_variant The feature flag has no variant "y".`},
	{"§4.3", "bob", "rollout", guardedRollout(1, `"treatment_variant":"a","control_variant":"a"`), `400 not_comparable control_variant Treatment and control must be different variants.`},
	{"§4.3 another lies between", "bob", "rollout", guardedRollout(1, `"treatment_variant":"c","control_variant":"a"`), `400 not_comparable treatment_variant The variant "b" is between treatment and control:`},
	{"§4.3 another lies between", "bob", "rollout", guardedRollout(1, `"treatment_variant":"d","control_variant":"b"`), `400 not_comparable treatment_variant The variant "c" is between`},
	{"§4.3 next to each other", "bob", "rollout", guardedRollout(1, `"treatment_variant":"d","control_variant":"c"`), `{"id":1,"treatment_variant":"d","control_variant":"c"}`},
	{"§4.3", "bob", "droprollout 1", ``, `null`},
	{"§4.3 one without a share lies between", "bob", "change 1", variantFlag("f", "a 10", "b 0", "c 90", "d 0", "e 0"), `{"id":1}`},
	{"§4.3 one without a share lies between", "bob", "rollout", guardedRollout(1, `"treatment_variant":"a","control_variant":"c"`), `{"id":2}`},
	{"§4.3 no share at all", "bob", "changerollout 2", `{"treatment_variant":"e","control_variant":"d"}`, `400 not_comparable treatment_variant Treatment and control have no share`},
	{"§4.3 two: control is the one of that name", "bob", "create", variantFlag("g", "test 5", "control 95"), `{"id":2}`},
	{"§4.3 two: control is the one of that name", "bob", "rollout", guardedRollout(2), `{"treatment_variant":"test","control_variant":"control"}`},
	{"§4.3 two: or else the first", "bob", "create", variantFlag("h", "old 95", "new 5"), `{"id":3}`},
	{"§4.3 two: or else the first", "bob", "rollout", guardedRollout(3), `{"treatment_variant":"new","control_variant":"old"}`},
	{"§4.3 two: if one is named, the other too", "bob", "changerollout 4", `{"control_variant":null}`, `400 required control_variant`},
}

var rolloutExperimentRows = []ruletest.Row{
	{"§4.3", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"id":1,"feature_flag":{"id":1}}`},
	{"§4.3 one that has not begun", "bob", "rollout", guardedRollout(1, `"steps":[`+step(60)+`,`+step(100)+`]`), `{"id":1}`},
	{"§4.3", "bob", "launch 1", ``, `{"status":"running"}`},
	{"§4.3 an experiment is running on the flag", "bob", "call 1 start", ``, `400 not_comparable feature_flag An experiment is running on this flag: end it first.`},
	{"§4.3 an experiment is running on the flag", "bob", "changerollout 1", `{"name":"x"}`, `400 not_comparable feature_flag`},
	{"§4.3", "bob", "end 1", ``, `{"status":"stopped"}`},
	{"§4.3 after its end", "bob", "call 1 start", ``, `{"status":"running","step":0,"percent_before":50}`},
	{"§4.3", "bob", "call 1 pause", ``, `{"status":"paused"}`},
	{"§4.3 another one began during the pause", "bob", "experiment", `{"name":"F","feature_flag_key":"e"}`, `{"id":2,"feature_flag":{"id":1}}`},
	{"§4.3 another one began during the pause", "bob", "launch 2", ``, `{"status":"running"}`},
	{"§4.9 a flag must fit still", "bob", "call 1 resume", `{"accept_flag":true}`, `400 not_comparable feature_flag An experiment is running on this flag:`},
	{"§4.9 a flag must fit still", "bob", "getrollout 1", ``, `{"status":"paused","step":0}`},
	{"§4.9 a flag must fit still", "bob", "end 2", ``, `{"status":"stopped"}`},
	{"§4.9 a flag must fit still", "bob", "call 1 resume", ``, `{"status":"running"}`},
}

// §4.8: a step is an ordinary version of the flag. A rollback restores only the share.
var writtenConditionRows = flagtest.Rows(
	aRollout(),
	[]ruletest.Row{
		{"§4.8 a version", "bob", "get 1", ``, `{"version":2,"last_modified_by":{"first_name":"bob"},"filters":{"groups":[{"properties":[],"rollout_percentage":10}]}}`},
		{"§4.8 other parts change meanwhile", "cyd", "change 1", `{"name":"about","tags":["x"],"filters":{"groups":[{"properties":[],"rollout_percentage":10,"description":"all"}],"payloads":{"true":"1"}}}`, `{"version":3}`},
		{"§4.8 they stay in a step", "bob", "call 1 advance", ``, `{"step":1}`},
		{"§4.8 they stay in a step", "bob", "get 1", ``, `{"version":4,"name":"about","tags":["x"],"filters":{"groups":[{"properties":[],"rollout_percentage":50,"description":"all"}],"payloads":{"true":"1"}}}`},
		{"§4.8 and in a rollback", "bob", "call 1 rollback", ``, `{"status":"rolled_back"}`},
		{"§4.8 and in a rollback", "bob", "get 1", ``, `{"version":5,"name":"about","tags":["x"],"filters":{"groups":[{"properties":[],"rollout_percentage":5,"description":"all"}],"payloads":{"true":"1"}}}`},
	},
)

var writtenVariantRows = []ruletest.Row{
	{"§4.3", "bob", "create", variantFlag("f", "x 10", "control 80", "test 10"), `{"id":1}`},
	// 100·10/90 = 11.1 % of both arms; the treatment of step 33.33 is 90·0.3333 = 29.997, the control
	// the other 60.003.
	{"§4.3 its part of what both have together", "bob", "rollout", guardedRollout(1, started, `"treatment_variant":"test","control_variant":"control","steps":[`+step(33.33)+`,`+step(50)+`,`+step(100)+`]`), `{"percent_before":11.11111111111111}`},
	{"§4.3 its part of what both have together", "bob", "get 1", ``, shares("10", "60.003", "29.997")},
	{"§4.3 the next", "bob", "call 1 advance", ``, `{"step":1}`},
	{"§4.3 the next", "bob", "get 1", ``, shares("10", "45", "45")},
	{"§4.3 all of it", "bob", "call 1 advance", ``, `{"step":2,"status":"completed"}`},
	{"§4.3 all of it", "bob", "get 1", ``, shares("10", "0", "90")},
	{"§4.8 back to the share of before", "bob", "change 1", variantFlag("f", "x 10", "control 80", "test 10"), `{"version":5}`},
	{"§4.8 back to the share of before", "bob", "rollout", guardedRollout(1, started, `"treatment_variant":"test","control_variant":"control","steps":[`+step(50)+`,`+step(100)+`]`), `{"id":2}`},
	{"§4.8 back to the share of before", "bob", "call 2 abort", ``, `{"status":"aborted"}`},
	{"§4.8 back to the share of before", "bob", "get 1", ``, shares("10", "80", "10")},
	{"§4.2 or to zero", "bob", "rollout", guardedRollout(1, started, `"on_rollback":"zero","treatment_variant":"test","control_variant":"control","steps":[`+step(50)+`,`+step(100)+`]`), `{"id":3}`},
	{"§4.2 or to zero", "bob", "call 3 rollback", ``, `{"status":"rolled_back"}`},
	{"§4.2 or to zero", "bob", "get 1", ``, shares("10", "90", "0")},
}

var zeroRows = flagtest.Rows(aRollout(`"on_rollback":"zero"`), []ruletest.Row{
	{"§4.2 zero", "-", "found 1000 9000 500 450", ``, `null`},
	{"§4.2 zero", "bob", "evaluate 1", ``, `{"status":"rolled_back"}`},
	{"§4.2 zero", "bob", "get 1", ``, percentOf("0")},
})

var notHigherRows = []ruletest.Row{
	{"§4.1 a rollout raises a share", "bob", "create", plainFlag("f", 10), `{"id":1}`},
	{"§4.1 as much as there is", "bob", "rollout", guardedRollout(1, started), `400 not_comparable steps.0.percent The treatment already has 10 %: the first step must be higher.`},
	{"§4.1 null is all", "bob", "change 1", `{"filters":{"groups":[{"properties":[],"rollout_percentage":null}]}}`, `{"id":1}`},
	{"§4.1 null is all", "bob", "rollout", guardedRollout(1, started), `400 not_comparable steps.0.percent The treatment already has 100 %:`},
	{"§4.1 a little less", "bob", "change 1", plainFlag("f", 9.99), `{"id":1}`},
	{"§4.1 a little less", "bob", "rollout", guardedRollout(1, started), `{"percent_before":9.99}`},
	{"§4.1 of both arms, not of all", "bob", "create", variantFlag("g", "x 80", "a 15", "b 5"), `{"id":2}`},
	{"§4.1 of both arms, not of all", "bob", "rollout", guardedRollout(2, started, `"treatment_variant":"b","control_variant":"a"`), `400 not_comparable steps.0.percent The treatment already has 25 %:`},
}

var groupRolloutRows = []ruletest.Row{
	{"§4.4 the identifier is the group's key", "bob", "create", conditions(`{"properties":[],"rollout_percentage":0}`, `"aggregation_group_type_index":0`), `{"id":1}`},
	{"§4.4 the identifier is the group's key", "bob", "rollout", guardedRollout(1, started), `{"id":1}`},
	{"§4.4 the identifier is the group's key", "bob", "evaluate 1", ``, `{"status":"running"}`},
	{"§4.4 the identifier is the group's key", "-", "asked", ``, `{"group_type_index":0,"border":0.1}`},
	{"§4.4 or the condition says so", "bob", "create", `{"key":"g","filters":{"groups":[{"properties":[],"rollout_percentage":0,"aggregation_group_type_index":0}]}}`, `{"id":2}`},
	{"§4.4 or the condition says so", "bob", "rollout", guardedRollout(2, started), `{"id":2}`},
	{"§4.4 or the condition says so", "bob", "evaluate 2", ``, `{"status":"running"}`},
	{"§4.4 or the condition says so", "-", "asked", ``, `{"flag_key":"g","group_type_index":0}`},
}

// The query of an evaluation has the bounds of the arms in the space of hashes (flags.md §2.2): a
// variant is from the sum of the shares before it to that sum plus its own.
var rolloutQueryRows = []ruletest.Row{
	{"§4.4 up to the percentage", "bob", "create", plainFlag("f", 0), `{"id":1}`},
	{"§4.4 up to the percentage", "bob", "rollout", guardedRollout(1, started, `"signals":[`+buyGuard+`],"exposure_lookback_days":3`), `{"started_at":"2026-01-02T12:00:02Z"}`},
	{"§4.4 up to the percentage", "-", "found 0 0 0 0 0 0", ``, `null`},
	{"§4.4 up to the percentage", "bob", "evaluate 1", ``, `{"status":"running"}`},
	{"§4.4 when: the lookback, the settling time, now", "-", "asked", ``, `{"kind":"GuardedRolloutQuery","flag_key":"f","hash":"","border":0.1,"from":"(absent)","to":"(absent)","arms":"(absent)","control_first":"(absent)","group_type_index":"(absent)",
		"since":"2025-12-30T12:00:02Z","settled_at":"2026-01-02T12:05:02Z","as_of":"2026-01-02T12:00:04Z","metrics":[{"source":{"event":"error"},"conversion_window":3600},{"source":{"event":"buy"}}]}`},
	{"§4.4 the next step", "bob", "call 1 advance", ``, `{"step":1,"step_started_at":"2026-01-02T12:00:06Z"}`},
	{"§4.4 the next step", "bob", "evaluate 1", ``, `{"status":"running"}`},
	{"§4.4 its own settling time, the same beginning", "-", "asked", ``, `{"border":0.5,"since":"2025-12-30T12:00:02Z","settled_at":"2026-01-02T12:05:06Z"}`},
	{"§4.4 control first: 10 + (90 − 45) = 55", "bob", "create", variantFlag("g", "x 10", "control 80", "test 10"), `{"id":2}`},
	{"§4.4 control first: 10 + (90 − 45) = 55", "bob", "rollout", guardedRollout(2, started, `"treatment_variant":"test","control_variant":"control","steps":[`+step(50)+`]`), `{"id":2}`},
	{"§4.4 control first: 10 + (90 − 45) = 55", "-", "found 0 0 0 0", ``, `null`},
	{"§4.4 control first: 10 + (90 − 45) = 55", "bob", "call 1 rollback", ``, `{"status":"rolled_back"}`},
	{"§4.4 control first: 10 + (90 − 45) = 55", "bob", "evaluate 2", ``, `{"status":"running"}`},
	{"§4.4 control first: 10 + (90 − 45) = 55", "-", "asked", ``, `{"flag_key":"g","arms":["test","control"],"from":0.1,"border":0.55,"to":1,"control_first":true}`},
	{"§4.4 treatment first: 20 + 30 = 50", "bob", "call 2 rollback", ``, `{"status":"rolled_back"}`},
	{"§4.4 treatment first: 20 + 30 = 50", "bob", "create", variantFlag("h", "x 20", "test 20", "control 40", "y 20"), `{"id":3}`},
	{"§4.4 treatment first: 20 + 30 = 50", "bob", "rollout", guardedRollout(3, started, `"treatment_variant":"test","control_variant":"control","steps":[`+step(50)+`]`), `{"id":3}`},
	{"§4.4 treatment first: 20 + 30 = 50", "bob", "evaluate 3", ``, `{"status":"running"}`},
	{"§4.4 treatment first: 20 + 30 = 50", "-", "asked", ``, `{"flag_key":"h","arms":["test","control"],"from":0.2,"border":0.5,"to":0.8,"control_first":"(absent)"}`},
}

var rolloutHashRows = []ruletest.Row{
	{"§4.4 with the flag's own function", "bob", "create", `{"key":"f","bucketing_hash":"murmur3","filters":{"groups":[{"properties":[],"rollout_percentage":0}]}}`, `{"id":1}`},
	{"§4.4 with the flag's own function", "bob", "rollout", guardedRollout(1, started), `{"id":1}`},
	{"§4.4 with the flag's own function", "bob", "evaluate 1", ``, `{"status":"running"}`},
	{"§4.4 with the flag's own function", "-", "asked", ``, `{"flag_key":"f","hash":"murmur3"}`},
}

// Decision 1: bucketing_hash of a project is the default of its flags.
func TestRollouts_HashOfProject(t *testing.T) {
	l := openRolloutWorld(t, memstore.New(memstore.ExternalData{}), everySecond)
	err := l.Store.Write(t.Context(), func(tx rooms.Tx) error {
		p, err := tx.Project(ruletest.Project)
		if err != nil {
			return err
		}
		p.Settings = map[string]json.RawMessage{"bucketing_hash": json.RawMessage(`"murmur3"`)}
		return tx.PutProject(p)
	})
	if err != nil {
		t.Fatal(err)
	}
	l.Run(t, rolloutCalls(t, l), []ruletest.Row{
		{"decision 1", "bob", "create", plainFlag("f", 0), `{"id":1}`},
		{"decision 1", "bob", "rollout", guardedRollout(1, started), `{"id":1}`},
		{"decision 1 the project's", "bob", "evaluate 1", ``, `{"status":"running"}`},
		{"decision 1 the project's", "-", "asked", ``, `{"hash":"murmur3"}`},
		{"decision 1 the flag's", "bob", "change 1", `{"bucketing_hash":"sha1"}`, `{"bucketing_hash":"sha1"}`},
		{"decision 1 the flag's", "bob", "evaluate 1", ``, `{"status":"running"}`},
		{"decision 1 the flag's", "-", "asked", ``, `{"hash":"sha1"}`},
	})
}

// §4.3: a flag of a definitions file is changed there only, whatever its shape is.
func TestRollouts_FlagsOfFiles(t *testing.T) {
	l := openRolloutWorld(t, memstore.New(memstore.ExternalData{}))
	err := l.Store.Write(t.Context(), func(tx rooms.Tx) error {
		d := management.Definition{ID: 1, Key: "filed", Origin: "flags.json", Record: []byte(`{"id":1,"key":"filed","active":true,"filters":{"groups":[{"properties":[],"rollout_percentage":0}]}}`)}
		return tx.PutDefinition(management.FlagDefinition, ruletest.Project, &d)
	})
	if err != nil {
		t.Fatal(err)
	}
	const conflict = `409 conflict - The feature flag "filed" is defined in the file flags.json and can only be changed there.`
	l.Run(t, rolloutCalls(t, l), []ruletest.Row{
		{"§4.3", "ann", "rollout", guardedRollout(1), conflict},
		{"§4.3", "ann", "dryrun", guardedRollout(1, `"started_at":"2026-01-02T10:00:00Z"`), conflict},
		{"console.md N12", "ann", "request", flagtest.RequestBody(`{"active":false}`), conflict},
	})
}
