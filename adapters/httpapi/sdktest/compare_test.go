package sdktest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/sdklint"
)

// answer is the value and payload of one flag. A flag without a result is off.
type answer struct {
	Value any // false, true or the variant
	// Payload is the payload's text, as the SDK reads it; empty without a payload.
	Payload string
}

var off = answer{Value: false}

// answers are the results of one subject by flag key. A missing flag was not decided.
type answers map[string]answer

// A reader converts a payload like an SDK.
type reader func(raw json.RawMessage) string

// goPayload is the reader of posthog-go: the content of a JSON string, otherwise the JSON.
func goPayload(raw json.RawMessage) string {
	var text string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// nodePayload is the reader of posthog-node: the content of a JSON string, parsed if that is JSON.
// Null means that there is no payload.
func nodePayload(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return sortedJSON(raw)
	}
	if json.Valid([]byte(text)) {
		return sortedJSON(json.RawMessage(text))
	}
	return sortedJSON(raw)
}

// sortedJSON writes JSON so that equal values have equal texts. Null is empty.
func sortedJSON(raw json.RawMessage) string {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil || v == nil {
		return ""
	}
	return describe(v)
}

// serverOnlyFlags are, by project, the flags that need a murmur3 bucket or depend on one that does:
// SDKs must not evaluate them (decision 1). The other murmur flags need no bucket: they have a
// rollout of 0 or 100, or a single or a forced variant.
var serverOnlyFlags = map[string][]string{
	"main": {
		"murmur-half", "murmur-variants", "murmur-later", "murmur-group", "murmur-device", "murmur-mixed",
		"murmur-dependant", "murmur-dependant-2", "murmur-dependant-3", "murmur-dependant-variant",
	},
	"murmur": {"half", "variants", "sha1-depends", "depends-everyone"},
}

// decide returns the server's own results, without HTTP. Clients of these tests run on servers, so
// flags for browsers have no result (§9.9).
func decide(p *project, s *subject, sel flags.Selection, read reader) answers {
	sel.Runtime = "server"
	var d flags.Decisions
	p.Set.Select(s.subject(), time.Now(), &sel, &d)
	out := answers{}
	for i := range d.List {
		out[d.List[i].Key] = answer{d.List[i].Value(), read(d.List[i].Payload)}
	}
	return out
}

// same compares an SDK's results with the server's; both must have the same flags.
func same(t *testing.T, subject string, want, got answers) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-server +sdk)\n%s", subject, diff)
	}
}

// pair is one flag evaluated for one subject.
type pair struct {
	SDK     string // "go" or "node"
	Project *project
	Flag    *flags.Flag
	Subject *subject
}

// comparison counts the local evaluations of an SDK, and compares them with the server and with the
// results of sdklint.Problems.
type comparison struct {
	sdk                          string
	read                         reader
	seen                         map[string]int // number of uses of the tables' rows, by reason
	expected                     map[string]*expectation
	decided, deferred, different int
}

func newComparison(sdk string, read reader) *comparison {
	return &comparison{sdk: sdk, read: read, seen: map[string]int{}, expected: map[string]*expectation{}}
}

// expectation are the results of sdklint for a project's flags and one SDK, by key: flags
// that are left to the server for some subject, or evaluated differently for some subject.
type expectation struct {
	asksServer, differs map[string]string
	deferred, other     map[string]int // how often that was observed
}

func (c *comparison) problems(p *project) *expectation {
	if expected := c.expected[p.Name]; expected != nil {
		return expected
	}
	out := &expectation{map[string]string{}, map[string]string{}, map[string]int{}, map[string]int{}}
	for _, l := range sdklint.Problems(p.Definitions) {
		switch {
		case l.SDK != "all" && l.SDK != c.sdk:
		case l.Differs:
			out.differs[l.Key] = l.Why
		default:
			out.asksServer[l.Key] = l.Why
		}
	}
	c.expected[p.Name] = out
	return out
}

// subject compares all local evaluations of an SDK for one subject.
func (c *comparison) subject(t *testing.T, p *project, s *subject, sel flags.Selection, got answers) {
	t.Helper()
	want := decide(p, s, sel, c.read)
	problems := c.problems(p)
	for _, key := range serverOnlyFlags[p.Name] {
		if mine, ok := got[key]; ok {
			t.Errorf("%s %s rests on a murmur3 bucket, but %s decides %s for %s", p.Name, key, c.sdk, describe(mine), s.Name)
		}
	}
	for i := range p.Definitions.Flags {
		f := &p.Definitions.Flags[i]
		pr := pair{c.sdk, p, f, s}
		mine, ok := got[f.Key]
		if !ok {
			c.deferred++
			problems.deferred[f.Key]++
			if problems.asksServer[f.Key] == "" && f.Active && !f.Deleted && pr.filtered(sel) && pr.withSubject() {
				c.unexpected(t, pr)
			}
			continue
		}
		c.decided++
		server, ok := want[f.Key]
		if !ok {
			server = off
		}
		if mine == server {
			continue
		}
		c.different++
		problems.other[f.Key]++
		row := explain(pr, mine, server)
		if row == nil {
			t.Errorf("%s %s %s for %s: %s decides %s, the server %s", p.Name, f.Key, record(f), describe(s), c.sdk, describe(mine), describe(server))
			continue
		}
		c.seen[row.reason]++
		if row.kind == expectedDisagreement && problems.differs[f.Key] == "" {
			t.Errorf("sdklint has nothing on %s %s %s, and %s decides it otherwise for %s: %s", p.Name, f.Key, record(f), c.sdk, describe(s), row.reason)
		}
	}
}

// unexpected searches the reason why a flag was left to the server although sdklint does not
// list it.
func (c *comparison) unexpected(t *testing.T, pr pair) {
	t.Helper()
	for _, row := range undecided {
		if strings.Contains(row.sdks, c.sdk) && row.applies(pr) {
			c.seen[row.why]++
			return
		}
	}
	t.Errorf("sdklint has nothing on %s %s %s, and %s leaves it to the server for %s", pr.Project.Name, pr.Flag.Key, record(pr.Flag), c.sdk, describe(pr.Subject))
}

// loaded fails if an SDK decided no flag in a project: it could not read the definitions.
func (c *comparison) loaded(t *testing.T, p *project, before int) {
	t.Helper()
	if c.decided == before {
		t.Errorf("%s decided nothing in project %s: it has no definitions", c.sdk, p.Name)
	}
}

// finish logs the counts and fails for rows that were not needed.
func (c *comparison) finish(t *testing.T) {
	t.Helper()
	t.Logf("%s: %d decided locally, %d of them otherwise than the server, %d left to it", c.sdk, c.decided, c.different, c.deferred)
	var lines []string
	for _, row := range slices.Concat(disagreements, payloads) {
		if !strings.Contains(row.sdks, c.sdk) {
			continue
		}
		lines = append(lines, fmt.Sprintf("%6d  %s: %s", c.seen[row.reason], row.clause, row.reason))
		if c.seen[row.reason] == 0 {
			t.Errorf("never seen with %s any more, take it out: %s, %s", c.sdk, row.clause, row.reason)
		}
	}
	for _, row := range undecided {
		if strings.Contains(row.sdks, c.sdk) && c.seen[row.why] == 0 {
			t.Errorf("never seen with %s any more, take it out: %s", c.sdk, row.why)
		}
	}
	for name, problems := range c.expected {
		c.check(t, name, "leaves to the server", problems.asksServer, problems.deferred)
		c.check(t, name, "decides otherwise", problems.differs, problems.other)
	}
	for _, row := range unseen {
		if strings.Contains(row.sdks, c.sdk) && c.seen[row.reason] == 0 {
			t.Errorf("not needed for %s any more, take it out: %s", c.sdk, row.reason)
		}
	}
	t.Logf("known disagreements, with how often they were seen:\n%s", strings.Join(lines, "\n"))
}

// check fails for problems that occur for no subject.
func (c *comparison) check(t *testing.T, project, what string, problems map[string]string, found map[string]int) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(problems)) {
		if found[key] > 0 {
			continue
		}
		excused := false
		for i := range unseen {
			row := &unseen[i]
			if strings.Contains(row.sdks, c.sdk) && matches(row.flags, project+" "+key) && matches(row.why, problems[key]) {
				c.seen[row.reason]++
				excused = true
			}
		}
		if !excused {
			t.Errorf("sdklint says that %s %s %s %s for somebody (%s), but it does for nobody here", c.sdk, what, project, key, problems[key])
		}
	}
}

func matches(pattern, text string) bool { return regexp.MustCompile(pattern).MatchString(text) }

func record(f *flags.Flag) string {
	b, err := json.Marshal(f)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func describe(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
