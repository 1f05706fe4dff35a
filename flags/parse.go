package flags

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// ParseDefinitions reads the definitions of one project: PostHog's definitions
// payload as served (§1.8), a definitions file that holds one project, or a
// document of flags as code (see [IsDocument]). Only what cannot be read at all is
// an error; a bad flag or cohort is kept as a fault (see [Set.Faults]) and the
// others are good.
func ParseDefinitions(data []byte) (Definitions, error) {
	v, err := DecodeJSON(data)
	if err != nil {
		return Definitions{}, fmt.Errorf("flags: %w", err)
	}
	root := &node{value: v}
	if root.has("projects") {
		file, err := parseFile(root)
		if err != nil {
			return Definitions{}, fmt.Errorf("flags: %w", err)
		}
		if len(file.Projects) != 1 {
			return Definitions{}, fmt.Errorf("flags: the file has %d projects, use ParseFile to choose one", len(file.Projects))
		}
		return file.Projects[0].Definitions, nil
	}
	if isDocument(v) {
		numberDocument(v.(map[string]any))
	}
	var d Definitions
	if err := read(func() { d = parseDefinitions(root) }); err != nil {
		return Definitions{}, fmt.Errorf("flags: %w", err)
	}
	return d, nil
}

func parseDefinitions(n *node) Definitions {
	n.object()
	if !n.has("flags") {
		n.at("flags").fail("is missing: definitions are an object with an array of flags")
	}
	d := Definitions{
		Timezone:                n.at("timezone").textOr(),
		PropertyMatchingVersion: int(n.at("property_matching_version").intOr()),
		MinimalFlagCalledEvents: n.at("minimal_flag_called_events").bool(),
		Revision:                n.at("revision").intOr(),
		BucketingHash:           parseHash(n.at("bucketing_hash")),
	}
	if v := d.PropertyMatchingVersion; v < 0 || v > 2 {
		d.PropertyMatchingVersion = 1
		d.faults = append(d.faults, &DefinitionError{
			Path: n.at("property_matching_version").path(), Problem: "must be 1 or 2, not " + strconv.Itoa(v) + ": 1 is used",
		})
	}
	if err := read(func() { n.knownHere(projectShape) }); err != nil {
		d.faults = append(d.faults, err)
	}
	d.GroupTypes = parseGroupTypes(n.at("group_type_mapping"))
	flags := n.at("flags")
	list := flags.list()
	if len(list) > 0 {
		d.Flags = make([]Flag, len(list))
	}
	for i, v := range list {
		d.Flags[i] = parseFlag(flags.item(i, v))
		yield(i)
	}
	for i := range d.Flags {
		if f := d.Flags[i].fault; f != nil {
			d.faults = append(d.faults, f)
		}
	}
	d.parseCohorts(n.at("cohorts"))
	if ids := n.at("static_cohorts"); ids.value != nil {
		d.StaticCohorts = append([]int64{}, ids.ints()...)
	}
	d.parseMembers(n.at("static_cohort_members"))
	if withheld := n.at("withheld_flags"); withheld.value != nil {
		d.Withheld = []FlagName{}
		for i, v := range withheld.list() {
			f := withheld.item(i, v)
			d.Withheld = append(d.Withheld, FlagName{f.at("id").int(), f.at("key").text()})
		}
	}
	failed := n.at("failed_cohorts")
	for i, v := range failed.list() {
		d.parseFailedCohort(failed.item(i, v))
	}
	for _, id := range n.at("empty_cohorts").ints() {
		d.addCohort(id, Cohort{})
	}
	for _, id := range n.at("behavioral_cohorts").ints() {
		d.addCohort(id, Cohort{Unsupported: true})
	}
	return d
}

func parseGroupTypes(n *node) map[int]string {
	if n.value == nil {
		return nil
	}
	types := map[int]string{}
	for index := range n.object() {
		i, err := strconv.Atoi(index)
		if err != nil || i < 0 || i > 255 {
			n.at(index).fail("a group type index is a number from 0, not %s", quote(index))
		}
		types[i] = n.at(index).text()
	}
	return types
}

func parseHash(n *node) Hash {
	switch h := Hash(n.textOr()); h {
	case "", SHA1, Murmur3:
		return h
	default:
		n.fail("must be %q or %q, not %s", SHA1, Murmur3, quote(string(h)))
		return ""
	}
}

// parseFlag never fails: a record that cannot be read becomes a flag with a
// fault, and with key and id where those could be read (decision 4).
func parseFlag(n *node) Flag {
	var f Flag
	err := read(func() { f.parse(n) })
	if err != nil {
		f = Flag{source: f.source, unknown: f.unknown}
		_ = read(func() { f.ID = n.at("id").int() })
		_ = read(func() { f.Key = n.at("key").text() })
		_ = read(func() { f.Active = n.at("active").bool() && !n.at("deleted").bool() })
		_ = read(func() { f.Version = n.at("version").intOr() })
		err.FlagID, err.Flag, err.Code = f.ID, f.Key, FlagDataParsingError
		f.fault = err
	}
	return f
}

func (f *Flag) parse(n *node) {
	f.source = n.object()
	n.known(flagShape)
	f.Key = n.at("key").text()
	if f.Key == "" {
		n.at("key").fail("must not be empty")
	}
	f.ID = n.at("id").int()
	f.Name = n.at("name").textOr()
	f.Version = n.at("version").intOr()
	f.Active = n.at("active").bool()
	f.Deleted = n.at("deleted").bool()
	f.Continuity = n.at("ensure_experience_continuity").bool()
	if n.has("x_ensure_experience_continuity") { // what a murmur3 flag really says (decision 1)
		f.Continuity = n.at("x_ensure_experience_continuity").bool()
	}
	f.DeviceBucketing = n.at("bucketing_identifier").textOr() == "device_id"
	f.Hash = parseHash(n.at("bucketing_hash"))
	f.Runtime = strings.ToLower(n.at("evaluation_runtime").textOr())
	if f.Runtime != "server" && f.Runtime != "client" {
		f.Runtime = ""
	}
	contexts := n.at("evaluation_contexts")
	if contexts.value == nil {
		contexts = n.at("evaluation_tags")
	}
	f.Contexts = contexts.texts()
	f.ContextsAll = n.at("evaluation_contexts_match_mode").textOr() == "all"
	f.HasExperiment = n.at("has_experiment").bool()
	f.RemoteConfig = n.at("is_remote_configuration").bool()
	f.HasEncryptedPayloads = n.at("has_encrypted_payloads").bool()
	f.parseFilters(n.at("filters"))
}

func (f *Flag) parseFilters(n *node) {
	n.object()
	if version := n.at("version"); n.has("version") {
		num, ok := version.value.(json.Number)
		whole, isWhole := int64(0), false
		if ok {
			whole, isWhole = wholeNumber(num)
		}
		if f.unknown = !isWhole || whole != 1; f.unknown {
			version.fail("format %s of a flag's filters is not supported, only format 1 is", kindOf(version.value))
		}
	}
	f.Group = n.at("aggregation_group_type_index").groupIndex()
	groups := n.at("groups")
	if groups.value == nil && n.has("groups") {
		groups.want("an array")
	}
	for i, v := range groups.list() {
		f.Conditions = append(f.Conditions, parseCondition(groups.item(i, v)))
	}
	if multi := n.at("multivariate"); multi.value != nil {
		multi.object()
		variants := multi.at("variants")
		for i, v := range variants.list() {
			vn := variants.item(i, v)
			vn.object()
			f.Variants = append(f.Variants, Variant{Key: vn.at("key").text(), Rollout: vn.at("rollout_percentage").percentage()})
		}
	}
	if p := n.at("payloads"); p.value != nil {
		f.Payloads = map[string]json.RawMessage{}
		for key, v := range p.object() {
			if v != nil {
				f.Payloads[key], _ = wire.Encode(v) // v came out of a JSON document
			}
		}
	}
	f.Enrollment = n.at("feature_enrollment").bool()
	f.EarlyExit = n.at("early_exit").bool()
	f.Holdout = parseHoldout(n.at("holdout"))
	f.upgrade(n)
}

// parseHoldout reads a holdout; without id or percentage there is none (§3.5).
func parseHoldout(n *node) *Holdout {
	if n.value == nil {
		return nil
	}
	n.object()
	if n.at("id").value == nil || n.at("exclusion_percentage").value == nil {
		return nil
	}
	return &Holdout{ID: n.at("id").int(), Exclusion: n.at("exclusion_percentage").percentage()}
}

func parseCondition(n *node) Condition {
	n.object()
	c := Condition{Variant: n.at("variant").textOr()}
	if p := n.at("rollout_percentage"); p.value != nil {
		f := p.percentage()
		c.Rollout = &f
	}
	if n.has("aggregation_group_type_index") {
		c.Aggregation = Aggregation{Set: true, Group: n.at("aggregation_group_type_index").groupIndex()}
	}
	props := n.at("properties")
	for i, v := range props.list() {
		c.Properties = append(c.Properties, parseProperty(props.item(i, v)))
	}
	return c
}

func parseProperty(n *node) Property {
	n.object()
	p := Property{
		Type:     PropertyType(n.at("type").textOr()),
		Operator: Operator(n.at("operator").textOr()),
		HasValue: n.has("value"),
		Negated:  n.at("negation").bool(),
	}
	p.Value = normalizeTree(n.at("value").value)
	key := n.at("key")
	if num, ok := key.value.(json.Number); ok {
		p.Key = string(num)
	} else {
		p.Key = key.text()
	}
	p.GroupType = n.at("group_type_index").groupIndex()
	if n.has("dependency_chain") {
		p.Chain = n.at("dependency_chain").texts()
		if p.Chain == nil {
			p.Chain = []string{}
		}
	}
	return p
}

// normalizeTree turns the numbers of a decoded value into Go numbers. Those that
// JSON writes otherwise than Go does (5.0) stay as they are written.
func normalizeTree(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = normalizeTree(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = normalizeTree(v[k])
		}
		return out
	case json.Number:
		if n, ok := literal(string(v)); ok {
			if _, written := n.(pointed); !written {
				return n
			}
		}
	}
	return v
}

// upgrade reads the two older ways of saying things (decision 3). What cannot
// be upgraded is ignored; Compile reports it.
func (f *Flag) upgrade(filters *node) {
	if old := filters.at("super_groups").list(); len(old) > 0 && filters.at("feature_enrollment").value == nil {
		n := filters.at("super_groups").item(0, old[0])
		if read(func() {
			for _, p := range parseCondition(n).Properties {
				if p.Key == enrollmentPrefix+f.Key {
					f.Enrollment = true
				}
			}
		}) != nil || !f.Enrollment {
			f.ignored(filters.at("super_groups"), "super_groups without $feature_enrollment/"+f.Key+" are ignored")
		}
	}
	if old := filters.at("holdout_groups").list(); len(old) > 0 && f.Holdout == nil && !filters.has("holdout") {
		n := filters.at("holdout_groups").item(0, old[0])
		var c Condition
		problem := read(func() { c = parseCondition(n) })
		id, err := strconv.ParseInt(strings.TrimPrefix(c.Variant, "holdout-"), 10, 64)
		if problem != nil || err != nil || !strings.HasPrefix(c.Variant, "holdout-") || len(c.Properties) > 0 {
			f.ignored(filters.at("holdout_groups"), "holdout_groups are ignored: only one without properties whose variant is holdout-<id> is understood")
			return
		}
		f.Holdout = &Holdout{ID: id, Exclusion: 100}
		if c.Rollout != nil {
			f.Holdout.Exclusion = *c.Rollout
		}
	}
}

// ignored notes something that is only reported.
func (f *Flag) ignored(n *node, problem string) {
	f.warnings = append(f.warnings, &DefinitionError{FlagID: f.ID, Flag: f.Key, Path: n.path(), Problem: problem})
}

// enrollmentPrefix and a flag's key name the person property of §3.4.
const enrollmentPrefix = "$feature_enrollment/"

func (d *Definitions) addCohort(id int64, c Cohort) {
	if d.Cohorts == nil {
		d.Cohorts = map[int64]Cohort{}
	}
	d.Cohorts[id] = c
}

// parseCohorts reads cohorts by id, or as a list of records with ids.
func (d *Definitions) parseCohorts(n *node) {
	add := func(id int64, at *node) {
		c := parseCohort(at)
		if c.fault != nil {
			d.faults = append(d.faults, c.fault)
		}
		d.addCohort(id, c)
	}
	switch v := n.value.(type) {
	case nil:
	case []any:
		for i := range v {
			at := n.item(i, v[i])
			add(at.at("id").int(), at)
		}
	default:
		ids := sortedKeys(n.object())
		sort.SliceStable(ids, func(i, j int) bool { return len(ids[i]) < len(ids[j]) })
		for _, id := range ids {
			num, err := strconv.ParseInt(id, 10, 64)
			if err != nil {
				n.at(id).fail("a cohort's id is a whole number, not %s", quote(id))
			}
			add(num, n.at(id))
		}
	}
}
