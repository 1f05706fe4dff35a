package featureflags_test

import (
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// When a flag is stale (§5.1.3), with the reasons for programs, and how lists count and sort it
// (console.md N10).
func TestFlags_Stale(t *testing.T) {
	askFlags(t, map[string][]ruletest.Row{"reasons": staleReasonRows, "rows": staleRowRows})
}

const alwaysFalse = `{"status":"stale","reason":"This boolean flag will always evaluate to \"false\"","reasons":[{"type":"always_the_same","value":false}]}`

var staleReasonRows = flagtest.Rows(
	[]ruletest.Row{
		flagtest.AFlag,
		{"§5.1.3 young: the same for all, but not stale", "bob", "status 1", ``, `{"status":"active","reasons":[{"type":"recently_created","value":true}],"last_called_at":null}`},
		{"§5.1.3", "bob", month, ``, `null`},
	},
	staleness(
		[2]string{`{"filters":{"groups":[]}}`, alwaysFalse},
		[2]string{`{"filters":{"groups":[],` + flagtest.AB + `}}`, alwaysFalse},
		[2]string{flagtest.Groups(`{}`), `{"status":"stale","reasons":[{"type":"always_the_same","value":true}]}`},
		[2]string{flagtest.Groups(`{"rollout_percentage":50}`, `{"rollout_percentage":50}`), `{"status":"active","reasons":[{"type":"partially_rolled_out","value":"(absent)"}]}`},
		// The first condition that matches everybody decides; earlier conditions match some persons.
		[2]string{`{"filters":{"groups":[{"rollout_percentage":10,"variant":"a"},{"variant":"b"},{"variant":"a"}],` + flagtest.AB + `}}`, uses},
		// A share of 100 counts only with a condition that matches everybody.
		[2]string{`{"filters":{"groups":[{"properties":[` + flagtest.Plan + `]},{"rollout_percentage":99}],"multivariate":{"variants":[{"key":"b","rollout_percentage":100}]}}}`, open},
		// The variant of a condition has precedence over the shares.
		[2]string{`{"filters":{"groups":[{"variant":"b"}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100},{"key":"b","rollout_percentage":0}]}}}`, uses},
		[2]string{`{"filters":{"groups":[{}],"feature_enrollment":true}}`, open},
		[2]string{`{"filters":{"groups":[{}],"holdout":null,"super_groups":null,"holdout_groups":null,"feature_enrollment":false}}`, always},
		[2]string{`{"filters":{"groups":[{}],"holdout_groups":[{"properties":[],"variant":"holdout-1","rollout_percentage":10}]}}`, open},
	),
	[]ruletest.Row{
		{"§5.1.3 off", "bob", "change 1", `{"active":false}`, `{"status":"INACTIVE"}`},
		{"§5.1.3 off", "bob", "status 1", ``, `{"status":"inactive","reason":"Flag is disabled","reasons":[{"type":"disabled"}]}`},
		{"§5.1.3 deleted", "bob", "change 1", `{"deleted":true}`, `{"status":"DELETED"}`},
		{"§5.1.3 deleted", "bob", "status 1", ``, `{"status":"deleted","reason":"Flag has been deleted","reasons":[{"type":"deleted"}]}`},
		{"§5.1.3 unknown", "bob", "status 9", ``, `{"status":"unknown","reasons":[{"type":"not_found"}]}`},
	},
)

var staleRowRows = []ruletest.Row{
	{"console.md N10", "bob", "create", `{"key":"old"}`, `{"id":1}`},
	{"console.md N10", "bob", "create", `{"key":"none"}`, `{"id":2}`},
	{"console.md N10", "bob", "change 2", `{"filters":{"groups":[]}}`, `{"version":2}`},
	{"console.md N10", "bob", month, ``, `null`},
	{"console.md N10", "bob", "create", `{"key":"new","filters":{"groups":[{"rollout_percentage":33.3},{"rollout_percentage":33.3}]}}`, `{"id":3}`},
	{"console.md N10 shares, conditions, reasons", "bob", "rows", ``, `{"count":3,"results":[
		{"key":"new","rollout_percentage":33.3,"conditions":2,"status":"ACTIVE"},
		{"key":"none","rollout_percentage":null,"conditions":0,"everybody":false,"status":"STALE","status_reason":"This boolean flag will always evaluate to \"false\""},
		{"key":"old","rollout_percentage":100,"conditions":1,"everybody":true,"status":"STALE","status_reason":"This boolean flag will always evaluate to \"true\""}]}`},
	{"console.md N10 a page of them", "bob", "rows", `{"Limit":1,"Offset":1}`, `{"count":3,"results":[{"key":"none"}]}`},
	{"console.md N10 an archived one is not stale", "bob", "archive 1", ``, `{"archived":true}`},
	{"console.md N10 an archived one is not stale", "bob", "keys", `{"Status":["stale"]}`, `["none"]`},
	{"console.md N10 nor inactive", "bob", "keys", `{"Status":["inactive"]}`, `[]`},
	{"console.md N10 several", "bob", "keys", `{"Status":["archived","active"]}`, `["new","old"]`},
	{"console.md N10 archived ones come by their status", "bob", "keys", `{"Status":["archived"],"Archived":false}`, `["old"]`},
	{"console.md N10 active, archived, inactive, stale", "bob", "keys", `{"Status":["archived","active","stale"],"Order":"status"}`, `["new","old","none"]`},
	{"console.md N10 deleted ones are not there", "bob", "change 3", `{"deleted":true}`, `{"deleted":true}`},
	{"console.md N10 deleted ones are not there", "bob", "rows", ``, `{"count":1,"results":[{"key":"none"}]}`},
}

// A flag that SDKs called counts as not called after 30 days and not a second earlier.
func TestFlags_NotCalled(t *testing.T) {
	w := ruletest.New(t, memstore.New(memstore.ExternalData{FlagCalls: map[memstore.Flag][]management.FlagCall{
		{Project: ruletest.Project, Key: "a"}: {{Value: "true", Last: ruletest.Start.Add(time.Second)}, {Value: "false", Last: ruletest.Start.Add(-time.Hour)}},
	}}))
	w.Run(t, flagtest.RoomCalls(t, w), []ruletest.Row{
		{"§5.1.3", "bob", "create", `{"key":"a","filters":{"groups":[{"rollout_percentage":50}]}}`, `{"last_called_at":"2026-01-02T12:00:01Z"}`},
		{"§5.1.3 30 days", "bob", "wait 719h59m58s", ``, `null`}, // at 12:00:00, the next row is a second later
		{"§5.1.3 30 days", "bob", "status 1", ``, `{"status":"active","reasons":[{"type":"partially_rolled_out"}]}`},
		{"§5.1.3 a second more", "bob", "status 1", ``, `{"status":"active","reasons":[{"type":"partially_rolled_out"},{"type":"not_called"}]}`},
		{"§5.1.3 it is no status of its own", "bob", "keys", `{"Active":"STALE"}`, `[]`},
	})
}
