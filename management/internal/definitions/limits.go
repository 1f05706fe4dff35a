package definitions

import "github.com/bunting-flags/bunting/management"

// Limits of the definitions of a project. They are bounded because each server compiles all
// definitions of a project after each change and sends them to every client that requests them.
const (
	// MaxFlags and MaxCohorts are the maximum numbers of flags and cohorts that are not deleted.
	MaxFlags   = 20_000
	MaxCohorts = 10_000
	// maxDefinitionBytes limits the total size of flags and cohorts as stored.
	maxDefinitionBytes = 64 << 20
)

// CheckGrowth returns an error with CodeLimit if a change exceeded a limit. A project that is
// already over a limit, for example because of a definitions file, can still be changed as long
// as the change does not increase the total in question.
func CheckGrowth(before, after management.DefinitionTotals) error {
	switch {
	case after.Flags > MaxFlags && after.Flags > before.Flags:
		return management.CodedFault(CodeLimit, "", "A project has at most %d feature flags: delete some, or use another project.", MaxFlags)
	case after.Cohorts > MaxCohorts && after.Cohorts > before.Cohorts:
		return management.CodedFault(CodeLimit, "", "A project has at most %d cohorts: delete some, or use another project.", MaxCohorts)
	case after.Bytes > maxDefinitionBytes && after.Bytes > before.Bytes:
		return management.CodedFault(CodeLimit, "", "The feature flags and cohorts of a project have at most %d bytes: make them smaller, or delete some.", maxDefinitionBytes)
	}
	return nil
}

// Put stores a definition, or returns an error if a limit of the project is exceeded.
// The caller's transaction is rolled back in that case.
func Put(tx Tx, kind management.DefinitionKind, project int64, d *management.Definition) error {
	before, err := tx.DefinitionTotals(project)
	if err != nil {
		return err
	}
	if err := tx.PutDefinition(kind, project, d); err != nil {
		return err
	}
	after, err := tx.DefinitionTotals(project)
	if err != nil {
		return err
	}
	return CheckGrowth(before, after)
}
