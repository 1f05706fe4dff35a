package changes

import (
	"encoding/json"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Config is the configuration of a Service. Env and Flags are required.
type Config struct {
	// Env has the store, the clock and the log of changes.
	Env management.Env[storeTx]
	// Flags has the rules of flags.
	Flags flagRules
	// JobDone receives the results of scheduled changes. It may be called from several goroutines. If
	// nil, results are not reported.
	JobDone func(management.JobDone)
}

// flagRules are the rules of flags that change requests need.
type flagRules interface {
	// ApplyPatch applies a patch to f in memory, with the permissions of scope. It returns an error
	// if the patch is empty, has members that a request cannot change, or if the result is not valid.
	ApplyPatch(tx storeTx, scope *management.Scope, f *storedflags.Flag, patch json.RawMessage) error
	// Members returns the members of a flag as the API returns it.
	Members(v *view, f *storedflags.Flag) (map[string]json.RawMessage, error)
	// MembersAt returns the members of a flag at a version, or nil if that is not stored.
	MembersAt(v *view, f *storedflags.Flag, version int64) (map[string]json.RawMessage, error)
}

// core is the state that both share.
type core struct {
	Config
	stored storedflags.Store
}

// storeTx is a transaction of the store.
type storeTx = definitions.Tx

// view is a transaction with the scope of the caller.
type view = resource.View[storeTx]

// Scheduled manages changes of flags at a later time (§5.1.3). RunDue executes them; the
// server must call it regularly.
type Scheduled struct {
	*core
	resource.Resource[storeTx, storedChange, ScheduledChange]
}

// Requests manages change requests for flags.
type Requests struct {
	*core
	resource.Resource[storeTx, storedRequest, ChangeRequest]
}

type requestEdit = resource.Edit[storeTx, storedRequest]
