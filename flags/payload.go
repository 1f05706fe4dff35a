package flags

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/bunting-flags/bunting/flags/wire"
)

// servedPayload is a definitions payload, on one line, with the hash that names
// its version.
type servedPayload struct {
	body    []byte
	version string
	statics []int64 // the static cohorts that it names, sorted
}

// lazyPayload makes the payload of definitions when it is first asked for.
func lazyPayload(d *Definitions, set *Set) func() (servedPayload, error) {
	return sync.OnceValues(func() (servedPayload, error) {
		body, statics, err := d.payload(set)
		if err != nil {
			return servedPayload{}, err
		}
		return servedPayload{body, versionOf(body), statics}, nil
	})
}

// versionOf names a payload by its content.
func versionOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// Payload is the definitions as SDKs that evaluate locally read them (§1.8).
// Beyond that section it carries members that PostHog's SDKs ignore: timezone,
// bucketing_hash, revision, static_cohorts and faults (decision 5), the names of
// flags that the server has beside these (withheld_flags), and the ids of cohorts
// that fail (failed_cohorts) or that nobody is in, which SDKs would misread (empty_cohorts) or
// compute otherwise (behavioral_cohorts). It fails on what JSON has no form for,
// which only definitions built by hand can hold: a payload that is no JSON, a
// share that is no number.
func (d *Definitions) Payload() ([]byte, error) {
	body, _, err := d.payload(Compile(*d))
	return body, err
}

func (d *Definitions) payload(set *Set) (body []byte, statics []int64, err error) {
	p := newPayload(d, set)
	list := p.flags() // before what it gathers on its way
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

func (d *Definitions) hash() Hash {
	if d.BucketingHash == "" {
		return SHA1
	}
	return d.BucketingHash
}

func (d *Definitions) groupTypeMapping() map[string]string {
	m := map[string]string{}
	for i, name := range d.GroupTypes {
		m[strconv.Itoa(i)] = name
	}
	return m
}

// payloadBuilder walks the definitions once for the payload.
type payloadBuilder struct {
	d             *Definitions
	set           *Set
	server        []bool             // by flag: SDKs must leave it to the server
	chainCache    map[int32][]string // dependency chains by the flag that they end in
	staticCohorts map[int64]bool     // StaticCohorts
	reached       map[int64]bool     // cohorts
	statics       []int64
	// withheld exist and are not in the payload.
	withheld []FlagName
	ends     map[int64]recursion
	nesting  int // how many cohorts deep the builder is
}

func newPayload(d *Definitions, set *Set) *payloadBuilder {
	p := &payloadBuilder{
		d: d, set: set, chainCache: map[int32][]string{}, staticCohorts: d.staticCohorts(),
		reached: map[int64]bool{}, statics: []int64{}, withheld: []FlagName{}, ends: map[int64]recursion{},
	}
	p.server = p.forServer()
	return p
}

// isServed reports whether the payload may tell of a flag: it is the one of its
// key, and what the server fails, an SDK must not decide.
func (p *payloadBuilder) isServed(i int32) bool {
	f := &p.d.Flags[i]
	used, ok := p.set.byKey[f.Key]
	return ok && used == i && !f.Deleted && p.set.flags[i].failure == NoReason
}

// flags are the records, ordered by key. Flags that cannot be read, whose
// payloads are encrypted, or that surveys created are left out.
func (p *payloadBuilder) flags() []any {
	out := []any{}
	for _, key := range sortedKeys(p.set.byKey) {
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

// isWithheld: not in the payload, though the server decides it.
func (f *Flag) isWithheld() bool {
	return f.HasEncryptedPayloads || strings.HasPrefix(f.Key, surveyPrefix)
}

// forServer marks the flags that PostHog's SDKs must not decide because they, or flags
// they depend on, have pins or a bucket that is a murmur3 hash (decision 1). SDKs
// leave flags with experience continuity to the server.
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

// target is the flag that a dependency means, false when an SDK cannot know it.
func (p *payloadBuilder) target(prop *Property) (int32, bool) {
	i, ok := p.set.findFlag(prop)
	return i, ok && p.isServed(i)
}

// chains names the flags that each dependency of a record depends on, and turns
// ids into keys.
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
	newFilters := cloneMap(filters)
	newFilters["groups"] = newGroups
	record["filters"] = newFilters
}

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
		// Of a record only this much is sure, whether it was read or made.
		var dependency Property
		dependency.Key, _ = prop["key"].(string)
		if _, chained := prop["dependency_chain"]; chained {
			dependency.Chain = []string{}
		}
		chain := []string{}
		changed := cloneMap(prop)
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
	changed := cloneMap(group)
	changed["properties"] = out
	return changed
}

// maxChain is how many flags a dependency chain may name. Beyond it the chain is
// left empty, so that SDKs ask the server: chains repeat what they have in
// common, so without a limit flags in a row would cost the square of their
// number.
const maxChain = 1000

// chain lists what has to be decided before and with a flag, dependencies
// first; empty when it leads back to itself, to a flag that is not there, or
// through more than maxChain flags.
func (p *payloadBuilder) chain(i int32) []string {
	if chain, ok := p.chainCache[i]; ok {
		return chain
	}
	p.chainCache[i] = []string{} // what whoever leads back here finds
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

// targets are the flags that a flag depends on directly, false when one is not there.
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

type payloadFault struct {
	ID   int64  `json:"id"`
	Key  string `json:"key"`
	Code string `json:"code"`
}

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

// remoteConfig finds the value of a remote configuration flag.
func (d *Definitions) remoteConfig(name string) (json.RawMessage, bool) {
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
