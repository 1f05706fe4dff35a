package convert

import (
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/flags"
)

// unleashVariants are weighted variants of a feature or a strategy.
type unleashVariants struct {
	at    *node
	list  []unleashVariant
	total float64
	// others are the variants of strategies, which the flag declares too.
	others []*unleashVariants
}

type unleashVariant struct {
	at      *node
	name    string
	weight  float64
	payload json.RawMessage
}

func (u *unleash) variants(at *node) *unleashVariants {
	out := &unleashVariants{at: at}
	for _, n := range at.items() {
		n.object()
		u.b.carryOnly(n, "name", "weight", "weightType", "stickiness", "payload", "overrides")
		v := unleashVariant{at: n, name: n.at("name").text(), weight: n.at("weight").number()}
		if v.weight < 0 {
			n.at("weight").refuse("must not be negative")
		}
		checkVariant(&node{parent: n, name: v.name})
		v.payload = u.payload(n.at("payload"))
		out.total += v.weight
		out.list = append(out.list, v)
	}
	return out
}

// payload is a variant's payload as JSON in a text (§1.2).
func (u *unleash) payload(p *node) json.RawMessage {
	if p.object() == nil {
		return nil
	}
	value := p.at("value").text()
	switch kind := p.at("type").textOr(); kind {
	case "json", "number":
		if !json.Valid([]byte(value)) {
			p.refuse("is not the %s that it says it is", kind)
		}
		return encode(value)
	}
	return encode(string(encode(value)))
}

func (v *unleashVariants) also(o *unleashVariants) { v.others = append(v.others, o) }

// declareUsed declares all variants, each once.
func (v *unleashVariants) declareUsed(f *flags.Flag) {
	payloads := map[string]json.RawMessage{}
	var names []string
	for _, set := range append([]*unleashVariants{v}, v.others...) {
		for _, o := range set.list {
			if old, there := payloads[o.name]; there && string(old) != string(o.payload) {
				o.at.refuse("is a variant %q with another payload than the one before", short(o.name))
			}
			if !slices.Contains(names, o.name) {
				names = append(names, o.name)
			}
			payloads[o.name] = o.payload
		}
	}
	for i, name := range names {
		rollout := 0.0
		if i == 0 {
			rollout = 100
		}
		f.Variants = append(f.Variants, flags.Variant{Key: name, Rollout: rollout})
		if p := payloads[name]; p != nil {
			if f.Payloads == nil {
				f.Payloads = map[string]json.RawMessage{}
			}
			f.Payloads[name] = p
		}
	}
}

// result adds the rules for those of whom when holds, of whom a share is on:
// first those with a variant of their own, then all by weight. No variants are
// given out when they weigh nothing together.
func (u *unleash) result(list []rule, at *node, when formula, v *unleashVariants, percent float64) []rule {
	if v.total == 0 {
		if len(v.list) > 0 {
			u.b.note(v.at, "weigh nothing together, and nobody gets one")
		}
		return append(list, rule{at: at, name: "strategy", when: when, shares: []share{{percent, on}}})
	}
	for _, o := range v.list {
		for _, override := range o.at.at("overrides").items() {
			key := u.field(override, override.at("contextName").text())
			own := textIn(key, override.at("values").texts())
			list = append(list, rule{at: override, name: "override", when: allOf(when, own), shares: []share{{percent, outcome{variant: o.name}}}})
		}
	}
	var shares []share
	for _, o := range v.list {
		s := share{o.weight / v.total * percent, outcome{variant: o.name}}
		if o.weight == v.total {
			s.percent = percent
		}
		if o.weight > 0 {
			shares = append(shares, s)
		}
	}
	return append(list, rule{at: at, name: "strategy", when: when, shares: shares})
}
