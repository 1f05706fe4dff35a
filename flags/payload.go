package flags

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// servedPayload is a definitions payload with the hash that names its version.
type servedPayload struct {
	body    []byte
	version string
}

func (l *live) served() (*servedPayload, error) {
	if p := l.payload.Load(); p != nil {
		return p, nil
	}
	body, err := l.defs.payload(l.set)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	p := &servedPayload{body, hex.EncodeToString(sum[:8])}
	l.payload.Store(p)
	return p, nil
}

// Payload is the definitions as SDKs that evaluate locally read them (§1.8).
// Beyond that section it carries members that PostHog's SDKs ignore: timezone,
// bucketing_hash, revision, static_cohorts and faults (decision 5), and the ids
// of cohorts that nobody is in, which SDKs would misread (empty_cohorts) or
// compute otherwise (behavioral_cohorts).
func (d *Definitions) Payload() ([]byte, error) { return d.payload(Compile(*d)) }

func (d *Definitions) payload(set *Set) ([]byte, error) {
	p := newPayload(d, set)
	out := map[string]any{
		"flags":                      p.flags(),
		"group_type_mapping":         d.groupTypeMapping(),
		"cohorts":                    p.cohorts(),
		"minimal_flag_called_events": d.MinimalFlagCalledEvents,
		"property_matching_version":  max(d.PropertyMatchingVersion, 1),
		"timezone":                   set.zoneTag,
		"bucketing_hash":             string(d.hash()),
		"revision":                   d.Revision,
		"static_cohorts":             p.statics,
		"empty_cohorts":              p.unserved(func(c *Cohort) bool { return !c.Unsupported }),
		"behavioral_cohorts":         p.unserved(func(c *Cohort) bool { return c.Unsupported }),
		"faults":                     p.faults(),
	}
	return encodeJSON(out), nil
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
	d       *Definitions
	set     *Set
	byID    map[int64]int
	byKey   map[string]int
	reached map[int64]bool // cohorts
	statics []int64
	ends    map[int64]ending
}

// ending is what is known of a cohort's references.
type ending uint8

const (
	endsUnknown ending = iota
	endsSoon           // being looked at
	endsWell
	endsNever
)

func newPayload(d *Definitions, set *Set) *payloadBuilder {
	p := &payloadBuilder{d, set, map[int64]int{}, map[string]int{}, map[int64]bool{}, []int64{}, map[int64]ending{}}
	for i := range d.Flags {
		f := &d.Flags[i]
		if f.Deleted || f.Key == "" || set.flags[i].failure != NoReason {
			continue // what the server fails, an SDK must not decide
		}
		if _, taken := p.byKey[f.Key]; !taken {
			p.byKey[f.Key] = i
		}
		if _, taken := p.byID[f.ID]; !taken {
			p.byID[f.ID] = i
		}
	}
	return p
}

// flags are the records, ordered by key. Flags that cannot be read, whose
// payloads are encrypted, or that surveys created are left out.
func (p *payloadBuilder) flags() []any {
	out := []any{}
	for _, key := range sortedKeys(p.byKey) {
		f := &p.d.Flags[p.byKey[key]]
		if f.HasEncryptedPayloads || strings.HasPrefix(f.Key, surveyPrefix) {
			continue
		}
		record := f.record()
		p.chains(record)
		p.reach(f)
		if f.Active && p.needsServer(f, map[string]bool{}) {
			record["x_ensure_experience_continuity"] = f.Continuity
			record["ensure_experience_continuity"] = true
		}
		out = append(out, record)
	}
	return out
}

// needsServer reports whether PostHog's SDKs must not decide a flag because its
// bucket, or that of a flag it depends on, is a murmur3 hash (decision 1). They
// leave flags with experience continuity to the server.
func (p *payloadBuilder) needsServer(f *Flag, seen map[string]bool) bool {
	if seen[f.Key] || !f.Active || f.Deleted || f.fault != nil {
		return false
	}
	seen[f.Key] = true
	if f.Hash == Murmur3 || f.Hash == "" && p.d.hash() == Murmur3 {
		if f.needsBucket() {
			return true
		}
	}
	for _, c := range f.Conditions {
		for i := range c.Properties {
			if c.Properties[i].Type != FlagProperty {
				continue
			}
			if target := p.target(&c.Properties[i]); target >= 0 && p.needsServer(&p.d.Flags[target], seen) {
				return true
			}
		}
	}
	return false
}

// needsBucket reports whether some answer of the flag can depend on a hash.
func (f *Flag) needsBucket() bool {
	fixed := false // the first variant with a share has all of it
	hashed := false
	sum := 0.0
	for _, v := range f.Variants {
		if v.Rollout > 0 && !fixed && !hashed {
			fixed, hashed = v.Rollout >= 100, v.Rollout < 100
		}
		sum += v.Rollout
	}
	for _, c := range f.Conditions {
		if c.Rollout != nil && *c.Rollout > 0 && *c.Rollout < 100 {
			return true
		}
		pinned := slices.ContainsFunc(f.Variants, func(v Variant) bool { return c.Variant != "" && v.Key == c.Variant })
		if hashed && !pinned {
			return true
		}
	}
	return false
}

func (p *payloadBuilder) target(prop *Property) int {
	if prop.Chain == nil {
		if id, err := strconv.ParseInt(prop.Key, 10, 64); err == nil {
			if i, ok := p.byID[id]; ok {
				return i
			}
		}
	}
	if i, ok := p.byKey[prop.Key]; ok {
		return i
	}
	return -1
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
		newGroups[i] = p.chainGroup(group, record["key"].(string))
	}
	newFilters := cloneMap(filters)
	newFilters["groups"] = newGroups
	record["filters"] = newFilters
}

func (p *payloadBuilder) chainGroup(group map[string]any, owner string) any {
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
		parsed := parseProperty(&node{value: prop})
		chain := []string{}
		changed := cloneMap(prop)
		if target := p.target(&parsed); target >= 0 {
			changed["key"] = p.d.Flags[target].Key
			chain = p.chain(target, owner)
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

// chain lists what has to be decided before and with a flag, dependencies
// first; empty when it leads back to the owner or to a flag that is not there.
func (p *payloadBuilder) chain(target int, owner string) []string {
	order := []string{}
	state := map[int]int{} // 1 on the way, 2 done
	var visit func(i int) bool
	visit = func(i int) bool {
		f := &p.d.Flags[i]
		if f.Key == owner || state[i] == 1 {
			return false
		}
		if state[i] == 2 {
			return true
		}
		state[i] = 1
		for _, c := range f.Conditions {
			for j := range c.Properties {
				if c.Properties[j].Type != FlagProperty {
					continue
				}
				next := p.target(&c.Properties[j])
				if next < 0 || !visit(next) {
					return false
				}
			}
		}
		state[i] = 2
		order = append(order, f.Key)
		return true
	}
	if !visit(target) {
		return []string{}
	}
	return order
}

// reach notes the cohorts that a flag needs, and those they need.
func (p *payloadBuilder) reach(f *Flag) {
	for _, c := range f.Conditions {
		for i := range c.Properties {
			if id, ok := c.Properties[i].Value.(int64); ok && c.Properties[i].Type == CohortProperty {
				p.reachCohort(id)
			}
		}
	}
}

func (p *payloadBuilder) reachCohort(id int64) {
	if p.reached[id] {
		return
	}
	p.reached[id] = true
	c, ok := p.d.Cohorts[id]
	if ok && c.Tree != nil {
		p.reachTree(c.Tree)
	}
	if ok && c.Static && !c.Deleted || !ok && slices.Contains(p.d.StaticCohorts, id) {
		p.statics = append(p.statics, id)
	}
}

func (p *payloadBuilder) reachTree(n *CohortNode) {
	if n.Leaf != nil && n.Leaf.Type == CohortProperty {
		if id, ok := n.Leaf.Value.(int64); ok {
			p.reachCohort(id)
		}
	}
	for i := range n.Children {
		p.reachTree(&n.Children[i])
	}
}

// cohorts are the trees that are reachable, by id. Those that SDKs could only
// misread are left out, so that they ask the server: cohorts on a cycle (which
// would never end), computed elsewhere, or described by nothing.
func (p *payloadBuilder) cohorts() map[string]any {
	slices.Sort(p.statics)
	out := map[string]any{}
	for id := range p.reached {
		c, ok := p.d.Cohorts[id]
		if !ok || c.Static || c.Deleted || c.fault != nil || c.Unsupported || c.Tree == nil || p.endless(id) {
			continue
		}
		out[strconv.FormatInt(id, 10)] = c.Tree.record()
	}
	return out
}

// unserved are the reachable cohorts without a tree that can be served, of one
// kind, sorted.
func (p *payloadBuilder) unserved(kind func(*Cohort) bool) []int64 {
	ids := []int64{}
	for id := range p.reached {
		c, ok := p.d.Cohorts[id]
		if ok && !c.Static && !c.Deleted && c.fault == nil && (c.Unsupported || c.Tree == nil) && kind(&c) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// endless reports whether a cohort leads back to itself or into a cycle.
func (p *payloadBuilder) endless(id int64) bool {
	switch p.ends[id] {
	case endsWell:
		return false
	case endsNever, endsSoon: // known, or met again on the way down
		return true
	}
	p.ends[id] = endsWell
	if t := p.d.Cohorts[id].Tree; t != nil {
		p.ends[id] = endsSoon
		if p.endlessTree(t) {
			p.ends[id] = endsNever
			return true
		}
		p.ends[id] = endsWell
	}
	return false
}

func (p *payloadBuilder) endlessTree(n *CohortNode) bool {
	if n.Leaf != nil && n.Leaf.Type == CohortProperty {
		id, ok := n.Leaf.Value.(int64)
		return ok && p.endless(id)
	}
	return slices.ContainsFunc(n.Children, func(c CohortNode) bool { return p.endlessTree(&c) })
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

func cloneMap(m map[string]any) map[string]any {
	out := make(map[string]any, len(m)+1)
	for k, v := range m {
		out[k] = v
	}
	return out
}
