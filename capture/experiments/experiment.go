package experiments

import (
	"encoding/json"
	"slices"
	"time"
)

// Experiment is what must be known of an experiment to measure it (§1.1).
type Experiment struct {
	FlagKey string
	// Variants are those of the flag, in its order.
	Variants []Variant
	// GroupType is the number of the group type that the flag is about; nil: people.
	GroupType *int
	// Start is zero for a draft, End for one that goes on.
	Start, End time.Time
	// Stats is stats_config, Criteria exposure_criteria, as they are stored; empty for
	// none. What is out of bounds in them counts as absent.
	Stats, Criteria json.RawMessage
	// Primary and Secondary are the metrics in their order, as they are stored.
	Primary, Secondary []json.RawMessage
	// Excluded are keys of variants that are left out.
	Excluded []string
	// Matured leaves out people whose window has not closed yet (§1.6).
	Matured bool
}

// Baseline is the place of the variant that the others are compared with (§2.1): the one
// of the stats_config, control, or the first. -1: there are no variants.
func (x *Experiment) Baseline() int {
	var config struct {
		Key string `json:"baseline_variant_key"`
	}
	_ = json.Unmarshal(x.Stats, &config) // what cannot be read has its default
	for _, key := range []string{config.Key, "control"} {
		if i := slices.IndexFunc(x.Variants, func(v Variant) bool { return v.Key == key }); i >= 0 {
			return i
		}
	}
	return min(0, len(x.Variants)-1)
}

// Variant is one of a flag, with its share of the people in per cent.
type Variant struct {
	Key   string
	Share float64
}

// MaxVariants bounds the variants of an experiment (E15).
const MaxVariants = 20
