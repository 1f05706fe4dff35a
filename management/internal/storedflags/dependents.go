package storedflags

import (
	"bytes"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
)

// dependsOnKeyOf reports whether f refers to the other flag by its key.
func (f *Flag) dependsOnKeyOf(other *Flag) bool {
	return slices.ContainsFunc(f.Shape().properties("flag"), func(p *propertyShape) bool { return p.name() == other.Key })
}

// Dependents returns the flags that directly depend on f, in the order of their ids. Flags in
// definitions files may refer to f by its key, all other flags by its id.
func (s Store) Dependents(tx definitions.Tx, scope *management.Scope, f *Flag) (out []*Flag, err error) {
	var failed error
	_, _, err = tx.Definitions(management.DefinitionQuery{Kind: management.FlagDefinition, Project: scope.Project.ID, Limit: 1, Match: func(d *management.Definition) bool {
		// Decoding all flags of a large project is slow: skip those that cannot depend on a flag.
		if d.ID == f.ID || !bytes.Contains(d.Record, []byte(`"flag"`)) {
			return false
		}
		other, err := Decode(scope.Project.ID, d)
		if err != nil {
			failed = err
			return false
		}
		if slices.ContainsFunc(other.Shape().properties("flag"), func(p *propertyShape) bool {
			return p.Chain == nil && p.name() == f.ItemID() || p.name() == f.Key
		}) {
			out = append(out, other)
		}
		return false
	}})
	if err == nil {
		err = failed
	}
	slices.Reverse(out) // the store returns the newest first
	return out, err
}
