package featureflags

import (
	"github.com/bunting-flags/bunting/management"
)

// loadExperiment finds an experiment; one that is deleted for a body that brings it back.
func loadExperiment(v *view, idText string, change *management.Body) (*storedExperiment, error) {
	id, err := management.ResolveNumber(v.Tx, kindExperiment, v.Parent(), idText)
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

// findLinkable is the flag of a key that an experiment may have, nil where one has to be made:
// that fails for one which the caller may not see.
func (s Experiments) findLinkable(v *view, key string) (*storedFlag, error) {
	d, err := v.Tx.DefinitionByKey(FlagDefinition, v.Project.ID, key)
	if err != nil || d == nil {
		return nil, err
	}
	flag, err := Flags{s.core}.loadFlag(v.Tx, v.Scope, d.ID)
	if err != nil || !v.CanSee(flag.accessObject()) {
		return nil, err
	}
	switch variants := variantsOf(flag); {
	case len(variants) < 2 || flag.RemoteConfig || flag.Archived:
		return nil, management.Fault("feature_flag_key", "Feature flag is not eligible for experiments.")
	case variants[0].Key != "control":
		return nil, management.Fault("feature_flag_key", "Feature flag must have control as the first variant.")
	}
	return flag, nil
}

// joinFlag is a flag that was there and that an experiment gets: it is on once the
// experiment runs, and has the holdout of the experiment where that has one.
func (x *storedExperiment) joinFlag(flag *storedFlag, holdout *storedHoldout) *storedFlag {
	if flag == nil {
		return nil
	}
	flag.Active = flag.Active || !x.isDraft()
	if holdout != nil {
		flag.Filters = withHoldout(flag.Filters, holdout)
	}
	return flag
}

// isOnlyRunning reports whether no other experiment runs with a flag.
func (s Experiments) isOnlyRunning(v *view, x *storedExperiment, flag *storedFlag) (bool, error) {
	for _, link := range flag.Links.Experiments {
		other, err := management.LoadRecord[storedExperiment](v.Tx, kindExperiment, v.Parent(), string(link.ID))
		if err != nil {
			return false, err
		}
		if other != nil && other.ID != x.ID && !other.isDraft() && other.End.IsZero() {
			return false, nil
		}
	}
	return true, nil
}
