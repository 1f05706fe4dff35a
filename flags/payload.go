package flags

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/internal/values"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Payload returns the definitions in the format for SDKs that evaluate locally (§1.8). Beyond
// that section it has members that PostHog's SDKs ignore: timezone, bucketing_hash, revision,
// static_cohorts and faults (decision 5), the names of flags that only the server evaluates
// (withheld_flags), the ids of cohorts that fail (failed_cohorts), of cohorts without a
// definition, which are empty (empty_cohorts), and of cohorts that are computed elsewhere
// (behavioral_cohorts); SDKs would misread the latter two. It returns an error for values
// without a form in JSON, which only definitions built by hand can have: a payload that is
// not JSON, or a share that is not a number.
func (d *Definitions) Payload() ([]byte, error) {
	body, _, err := d.PayloadOf(nil)
	return body, err
}

// PayloadOf is like Payload and also returns the ids of the static cohorts in the payload, sorted.
// set contains the flags of d, compiled; if it is nil, they are compiled.
func (d *Definitions) PayloadOf(set *Set) (body []byte, staticCohorts []int64, err error) {
	if set == nil {
		set = Compile(*d)
	}
	p := newPayload(d, set)
	list := p.flags() // first, since it collects data for the members below
	out := map[string]any{
		"flags":                      list,
		"group_type_mapping":         d.groupTypeMapping(),
		"cohorts":                    p.cohorts(),
		"minimal_flag_called_events": d.MinimalFlagCalledEvents,
		"property_matching_version":  max(d.PropertyMatchingVersion, 1),
		"timezone":                   set.zoneTag,
		"bucketing_hash":             string(d.hash()),
		"revision":                   d.Revision,
		"static_cohorts":             p.statics,
		"empty_cohorts":              p.unservedCohorts(func(c *Cohort) bool { return !c.Unsupported }),
		"behavioral_cohorts":         p.unservedCohorts(func(c *Cohort) bool { return c.Unsupported }),
		"withheld_flags":             p.withheld,
		"failed_cohorts":             p.failedCohorts(),
		"faults":                     p.faults(),
	}
	if body, err = wire.Encode(out); err != nil {
		return nil, nil, fmt.Errorf("flags: payload: %w", err)
	}
	return body, p.statics, nil
}

// hash returns the project's bucketing hash with the default applied.
func (d *Definitions) hash() Hash {
	if d.BucketingHash == "" {
		return SHA1
	}
	return d.BucketingHash
}

// groupTypeMapping returns the group types by index as text.
func (d *Definitions) groupTypeMapping() map[string]string {
	m := map[string]string{}
	for i, name := range d.GroupTypes {
		m[strconv.Itoa(i)] = name
	}
	return m
}

// payloadBuilder collects the flags and cohorts of a payload.
type payloadBuilder struct {
	d             *Definitions
	set           *Set
	server        []bool             // by flag index: SDKs must not evaluate the flag
	chainCache    map[int32][]string // dependency chains by the flag at their end
	staticCohorts map[int64]bool     // StaticCohorts as a set
	reached       map[int64]bool     // cohorts that flags refer to, directly or not
	statics       []int64
	// withheld lists existing flags that are not in the payload.
	withheld []FlagName
	ends     map[int64]recursion
	nesting  int // current depth of nested cohorts
}

func newPayload(d *Definitions, set *Set) *payloadBuilder {
	p := &payloadBuilder{
		d: d, set: set, chainCache: map[int32][]string{}, staticCohorts: d.staticCohorts(),
		reached: map[int64]bool{}, statics: []int64{}, withheld: []FlagName{}, ends: map[int64]recursion{},
	}
	p.server = p.forServer()
	return p
}

// isServed reports whether the payload may contain the flag. It must be the flag that its key
// resolves to, and must not fail on the server, since SDKs would evaluate it.
func (p *payloadBuilder) isServed(i int32) bool {
	f := &p.d.Flags[i]
	used, ok := p.set.byKey[f.Key]
	return ok && used == i && !f.Deleted && p.set.flags[i].failure == NoReason
}

// flags returns the records of the payload's flags, sorted by key. Flags that cannot be read,
// that have encrypted payloads, or that surveys created are left out.
func (p *payloadBuilder) flags() []any {
	out := []any{}
	for _, key := range values.SortedKeys(p.set.byKey) {
		i := p.set.byKey[key]
		f := &p.d.Flags[i]
		if !p.isServed(i) || f.isWithheld() {
			if !f.Deleted {
				p.withheld = append(p.withheld, FlagName{f.ID, f.Key})
			}
			continue
		}
		record := f.record()
		p.chains(record)
		p.reachFlag(f)
		if p.server[i] {
			record["x_ensure_experience_continuity"] = f.Continuity
			record["ensure_experience_continuity"] = true
		}
		out = append(out, record)
	}
	return out
}

// isWithheld reports whether a flag is left out of the payload although the server evaluates
// it.
func (f *Flag) isWithheld() bool {
	return f.HasEncryptedPayloads || strings.HasPrefix(f.Key, surveyPrefix)
}

// forServer marks the flags that PostHog's SDKs must not evaluate because they, or flags that
// they depend on, have pins or a bucket by murmur3 (decision 1). Their records claim
// experience continuity, since SDKs leave such flags to the server.
func (p *payloadBuilder) forServer() []bool {
	marked := make([]bool, len(p.set.flags))
	dependants := make([][]int32, len(p.set.flags))
	var queue []int32
	for i := range p.set.flags {
		f := &p.set.flags[i]
		if !f.has(bitActive) || f.failure != NoReason {
			continue
		}
		for _, dep := range f.deps {
			dependants[dep] = append(dependants[dep], int32(i))
		}
		if f.has(bitMurmur3) && f.needsBucket() || f.has(bitPinned) {
			marked[i] = true
			queue = append(queue, int32(i))
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, i := range dependants[queue[0]] {
			if !marked[i] {
				marked[i] = true
				queue = append(queue, i)
			}
		}
	}
	return marked
}

// target returns the flag that a dependency refers to. It returns false if the flag is not
// available to SDKs.
func (p *payloadBuilder) target(prop *Property) (int32, bool) {
	i, ok := p.set.findFlag(prop)
	return i, ok && p.isServed(i)
}

// chains adds the dependency chain to each dependency in a record, and replaces ids by keys.
// It copies the parts that it modifies.
func (p *payloadBuilder) chains(record map[string]any) {
	filters, _ := record["filters"].(map[string]any)
	groups, _ := filters["groups"].([]any)
	if len(groups) == 0 {
		return
	}
	newGroups := make([]any, len(groups))
	for i, g := range groups {
		group, _ := g.(map[string]any)
		newGroups[i] = p.chainGroup(group)
	}
	newFilters := values.CloneMap(filters)
	newFilters["groups"] = newGroups
	record["filters"] = newFilters
}

// chainGroup returns the record of a condition with dependency chains.
func (p *payloadBuilder) chainGroup(group map[string]any) any {
	props, _ := group["properties"].([]any)
	var out []any
	for i, v := range props {
		prop, _ := v.(map[string]any)
		if prop["type"] != string(FlagProperty) {
			continue
		}
		if out == nil {
			out = slices.Clone(props)
		}
		// Only these members have the same form in parsed and in generated records.
		var dependency Property
		dependency.Key, _ = prop["key"].(string)
		if _, chained := prop["dependency_chain"]; chained {
			dependency.Chain = []string{}
		}
		chain := []string{}
		changed := values.CloneMap(prop)
		if target, ok := p.target(&dependency); ok {
			changed["key"] = p.d.Flags[target].Key
			chain = p.chain(target)
		}
		changed["dependency_chain"] = chain
		out[i] = changed
	}
	if out == nil {
		return group
	}
	changed := values.CloneMap(group)
	changed["properties"] = out
	return changed
}

// maxChain is the maximum length of a dependency chain. A longer chain is left empty, so that
// SDKs call the server. Chains repeat their common parts, so that without a limit the chains
// of n flags in a row would have n²/2 elements.
const maxChain = 1000

// chain returns the flags that must be evaluated for a dependency on the flag at index i,
// dependencies first and the flag itself last. It is empty if the flag is on a cycle, depends
// on a missing flag, or needs more than maxChain flags.
func (p *payloadBuilder) chain(i int32) []string {
	if chain, ok := p.chainCache[i]; ok {
		return chain
	}
	p.chainCache[i] = []string{} // the result on a cycle
	f := &p.d.Flags[i]
	targets, ok := p.targets(f)
	if !ok {
		return []string{}
	}
	order, listed := []string{}, map[string]bool{}
	for _, next := range targets {
		if listed[p.d.Flags[next].Key] {
			continue
		}
		chain := p.chain(next)
		for _, key := range chain {
			if !listed[key] {
				listed[key] = true
				order = append(order, key)
			}
		}
		if len(chain) == 0 || len(order) >= maxChain {
			return []string{}
		}
	}
	p.chainCache[i] = append(order, f.Key)
	return p.chainCache[i]
}

// targets returns the flags that a flag directly depends on. It returns false if one of them
// is not available.
func (p *payloadBuilder) targets(f *Flag) (targets []int32, ok bool) {
	for i := range f.Conditions {
		for j := range f.Conditions[i].Properties {
			prop := &f.Conditions[i].Properties[j]
			if prop.Type != FlagProperty {
				continue
			}
			target, ok := p.target(prop)
			if !ok {
				return nil, false
			}
			targets = append(targets, target)
		}
	}
	return targets, true
}

// payloadFault is a fault in the payload.
type payloadFault struct {
	ID   int64  `json:"id"`
	Key  string `json:"key"`
	Code string `json:"code"`
}

// faults returns the faults that make flags fail, sorted by key, without duplicates.
func (p *payloadBuilder) faults() []payloadFault {
	out := []payloadFault{}
	for _, f := range p.set.faults {
		if f.Code != NoReason && f.Flag != "" {
			out = append(out, payloadFault{f.FlagID, f.Flag, f.Code.String()})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Key < out[j].Key })
	return slices.Compact(out)
}

// RemoteConfig returns the value of a remote configuration flag, by key or id (§1.8). It returns
// false if there is no such flag.
func (d *Definitions) RemoteConfig(name string) (json.RawMessage, bool) {
	find := func(match func(*Flag) bool) *Flag {
		i := slices.IndexFunc(d.Flags, func(f Flag) bool { return !f.Deleted && f.fault == nil && match(&f) })
		if i < 0 {
			return nil
		}
		return &d.Flags[i]
	}
	f := find(func(f *Flag) bool { return f.Key == name })
	if id, err := strconv.ParseInt(name, 10, 64); f == nil && err == nil {
		f = find(func(f *Flag) bool { return f.ID == id })
	}
	if f == nil || !f.RemoteConfig {
		return nil, false
	}
	return f.Payloads["true"], true
}
