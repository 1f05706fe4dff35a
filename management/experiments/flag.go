package experiments

import (
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// loadExperiment loads an experiment by its number. A deleted experiment is only found if the
// request body is the one that restores it (isUndelete).
func loadExperiment(v *view, idText string, change *management.Body) (*storedExperiment, error) {
	id, err := records.ResolveNumber(v.Tx, kindExperiment, v.Parent(), idText)
	if err != nil || id == "" {
		return nil, err
	}
	r, err := v.Tx.Get(kindExperiment, v.Parent(), id)
	if err != nil || r == nil || r.Hidden && !isUndelete(change) {
		return nil, err
	}
	return management.Decode[storedExperiment](r)
}

// isUndelete reports whether a body is exactly {"deleted": false}.
func isUndelete(b *management.Body) bool {
	return b != nil && len(b.Members) == 1 && string(b.Members["deleted"]) == "false"
}

// findLinkable returns the flag with the given key, or nil if one has to be created. It returns
// nil for a flag that the caller may not see, too: creating another with that key fails later. It
// returns an error if the flag's type or variants are not suitable for experiments.
func (s Service) findLinkable(v *view, key string) (*storedflags.Flag, error) {
	d, err := v.Tx.DefinitionByKey(management.FlagDefinition, v.Project.ID, key)
	if err != nil || d == nil {
		return nil, err
	}
	flag, err := s.stored.Load(v.Tx, v.Scope, d.ID)
	if err != nil || !v.CanSee(flag.AccessObject()) {
		return nil, err
	}
	// Results compare each variant with control, so control and at least one more must exist.
	switch variants := variantsOf(flag); {
	case len(variants) < 2 || flag.RemoteConfig || flag.Archived:
		return nil, management.Fault("feature_flag_key", "Feature flag is not eligible for experiments.")
	case variants[0].Key != "control":
		return nil, management.Fault("feature_flag_key", "Feature flag must have control as the first variant.")
	}
	return flag, nil
}

// joinFlag prepares an existing flag for the experiment: the flag is switched on if the
// experiment has been launched, and gets the experiment's holdout, if any. It returns nil if flag
// is nil.
func (x *storedExperiment) joinFlag(flag *storedflags.Flag, holdout *storedHoldout) *storedflags.Flag {
	if flag == nil {
		return nil
	}
	flag.Active = flag.Active || !x.isDraft()
	if holdout != nil {
		flag.Filters = withHoldout(flag.Filters, holdout)
	}
	return flag
}

// isOnlyRunning reports whether no other running experiment uses the flag.
func (s Service) isOnlyRunning(v *view, x *storedExperiment, flag *storedflags.Flag) (bool, error) {
	for _, link := range flag.Links.Experiments {
		other, err := resource.LoadRecord[storedExperiment](v.Tx, kindExperiment, v.Parent(), string(link.ID))
		if err != nil {
			return false, err
		}
		if other != nil && other.ID != x.ID && !other.isDraft() && other.End.IsZero() {
			return false, nil
		}
	}
	return true, nil
}
