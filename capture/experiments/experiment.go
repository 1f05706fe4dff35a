package experiments

import (
	"encoding/json"
	"slices"
	"time"
)

// Experiment has the properties of an experiment that its measurement depends on (§1.1).
type Experiment struct {
	// FlagKey is the key of the experiment's flag.
	FlagKey string
	// Variants are the variants of the flag, in its order.
	Variants []Variant
	// GroupType is the index of the flag's group type, or nil if the flag is about persons.
	GroupType *int
	// Start is zero for a draft, and End is zero while the experiment runs.
	Start, End time.Time
	// Stats is the stored stats_config and Criteria the stored exposure_criteria; both may be
	// empty. Values in them that are out of bounds count as absent.
	Stats, Criteria json.RawMessage
	// Primary and Secondary are the stored metrics, in order.
	Primary, Secondary []json.RawMessage
	// Excluded are the keys of variants that are not measured.
	Excluded []string
	// Matured omits persons before the end of their conversion window (§1.6).
	Matured bool
}

// Baseline returns the index of the variant that is the baseline of comparisons (§2.1): the one of
// stats_config, otherwise control, otherwise the first. It returns -1 if there are no variants.
func (x *Experiment) Baseline() int {
	var config struct {
		Key string `json:"baseline_variant_key"`
	}
	_ = json.Unmarshal(x.Stats, &config) // invalid JSON has the default
	for _, key := range []string{config.Key, "control"} {
		if i := slices.IndexFunc(x.Variants, func(v Variant) bool { return v.Key == key }); i >= 0 {
			return i
		}
	}
	return min(0, len(x.Variants)-1)
}

// Variant is a variant of a flag. Share is its share of the entities in percent.
type Variant struct {
	Key   string
	Share float64
}

// MaxVariants is the greatest number of variants of an experiment (E15).
const MaxVariants = 20
