package featureflags

import "github.com/bunting-flags/bunting/management"

// The most that one project may have. Every server compiles all of a project's
// definitions after each change, and sends them to every client that asks.
const (
	// maxFlags and MaxCohorts are how many flags and cohorts there may be that are not
	// deleted.
	maxFlags   = 20_000
	MaxCohorts = 10_000
	// maxDefinitionBytes bounds these together, as they are stored.
	maxDefinitionBytes = 64 << 20
)

// CodeLimit is the code of what would be more than there may be.
const CodeLimit = "limit_exceeded"

// checkGrowth says which limit a change has gone over. What is over one already, out of a
// definitions file say, may be changed as long as it does not grow.
func checkGrowth(before, after DefinitionTotals) error {
	switch {
	case after.Flags > maxFlags && after.Flags > before.Flags:
		return management.CodedFault(CodeLimit, "", "A project has at most %d feature flags: delete some, or use another project.", maxFlags)
	case after.Cohorts > MaxCohorts && after.Cohorts > before.Cohorts:
		return management.CodedFault(CodeLimit, "", "A project has at most %d cohorts: delete some, or use another project.", MaxCohorts)
	case after.Bytes > maxDefinitionBytes && after.Bytes > before.Bytes:
		return management.CodedFault(CodeLimit, "", "The feature flags and cohorts of a project have at most %d bytes: make them smaller, or delete some.", maxDefinitionBytes)
	}
	return nil
}

// putDefinition saves a definition, as far as the project may have it.
func putDefinition(tx Tx, kind DefinitionKind, project int64, d *Definition) error {
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
	return checkGrowth(before, after)
}
