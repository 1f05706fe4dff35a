package featureflags

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// copyFields are the fields of the request that copies a flag.
var copyFields = management.Fields{
	{Name: "feature_flag_key", Type: management.Text, Required: true, MaxLength: 400},
	{Name: "from_project", Type: management.Int, Required: true},
	{Name: "target_project_ids", Type: management.IntList, Required: true, Help: "ids of at most 50 projects in the organization"},
	{Name: "copy_schedule", Type: management.Bool, Help: "true: also copy scheduled changes"},
	{Name: "disable_copied_flag", Type: management.Bool, Help: "true: the copies are off, whatever the source is"},
}

// maxCopies limits the target projects of one request (spec/flags.md §1.11).
const maxCopies = 50

// CopyResult is the result of Copy: the flags in the target projects, and the failures.
type CopyResult struct {
	// Success lists the flags in the target projects.
	Success []Flag `json:"success"`
	// Failed lists the projects without the flag; it is not null.
	Failed []copyFailure `json:"failed"`
}

// copyFailure is a project to which the flag could not be copied.
type copyFailure struct {
	// Project is the id of the target project.
	Project int64 `json:"project_id"`
	// Errors is a sentence for people.
	Errors string `json:"errors"`
}

// ErrMissingFields, ErrNoFlagToCopy and ErrMayNotCopy are returned by Copy. The API returns each of
// them in a form of its own (§5.1.3).
var (
	ErrMissingFields = errors.New("Missing required fields")                       //nolint:staticcheck // the text of the API
	ErrNoFlagToCopy  = errors.New("Feature flag to copy does not exist.")          //nolint:staticcheck // the text of the API
	ErrMayNotCopy    = errors.New("You do not have permission to copy this flag.") //nolint:staticcheck // the text of the API
)

// Copy copies a flag, with the cohorts to which it refers, to other projects of the organization,
// each in its own transaction. A flag with the same key in a target project is overwritten. Cohorts
// are matched by name. A failure in one target project does not prevent the copies to the rest.
func (s Flags) Copy(ctx context.Context, scope *management.Scope, b management.Body) (*CopyResult, error) {
	// All faults of the body have the same error.
	v, err := copyFields.Create(b)
	if err != nil || v.Text("feature_flag_key") == "" || len(v.Ints("target_project_ids")) == 0 {
		return nil, ErrMissingFields
	}
	if len(v.Ints("target_project_ids")) > maxCopies {
		return nil, management.CodedFault(management.CodeMaxLength, "target_project_ids", "Ensure this field has no more than %d elements.", maxCopies)
	}
	source, denied, err := definitions.InProject(ctx, &s.Env, scope, v.Int("from_project"))
	switch {
	case err != nil:
		return nil, err
	case denied:
		return nil, ErrMayNotCopy
	case source == nil:
		return nil, ErrNoFlagToCopy
	}
	// Read the source once; each target project gets the same document.
	var exported json.RawMessage
	var paste pasteFunc
	err = s.Env.Store.Read(ctx, func(tx storeTx) (err error) {
		exported, paste, err = s.exportFlag(tx, source, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &CopyResult{Success: []Flag{}, Failed: []copyFailure{}}
	for _, id := range v.Ints("target_project_ids") {
		f, err := s.copyTo(ctx, scope, id, v.Text("feature_flag_key"), exported, paste)
		var fault *management.Error
		switch {
		case errors.As(err, &fault):
			out.Failed = append(out.Failed, copyFailure{id, fault.Message})
		case err != nil:
			return nil, err
		default:
			out.Success = append(out.Success, *f)
		}
	}
	return out, nil
}

// exportFlag returns a document with the flag of a request to copy, and the cohorts to which the
// flag refers, directly or through other cohorts. With copy_schedule, paste copies the scheduled
// changes of the flag that were not executed yet.
func (s Flags) exportFlag(tx storeTx, scope *management.Scope, v management.Values) (text json.RawMessage, paste pasteFunc, err error) {
	key := v.Text("feature_flag_key")
	all, err := s.document(tx, scope)
	if err != nil {
		return nil, nil, err
	}
	flag := all.flag(key)
	if flag == nil {
		return nil, nil, ErrNoFlagToCopy
	}
	if !scope.CanSee(all.storedFlags[key].AccessObject()) {
		return nil, nil, ErrMayNotCopy
	}
	// A cohort may refer to other cohorts: follow the references and visit each cohort once.
	needed := map[string]bool{}
	var need func(v any)
	need = func(v any) {
		eachReference(v, func(property entry) {
			name, _ := property["value"].(string)
			if property["type"] != "cohort" || needed[name] || all.cohorts[name] == nil {
				return
			}
			needed[name] = true
			need(all.cohorts[name]["filters"])
		})
	}
	need(flag["filters"])
	cohorts := []entry{}
	// The cohorts are sorted by name, so the document does not depend on the order of references.
	for _, c := range sortedEntries(all.cohorts) {
		if name, _ := c["name"].(string); needed[name] {
			if !scope.CanSee(all.storedCohorts[name].AccessObject()) {
				return nil, nil, ErrMayNotCopy
			}
			cohorts = append(cohorts, definitions.Omit(c, "members")) // the members of a static cohort belong to one project
		}
	}
	if v.Bool("copy_schedule") && s.CopySchedule != nil {
		if paste, err = s.CopySchedule(tx, scope, all.storedFlags[key]); err != nil {
			return nil, nil, err
		}
	}
	flag["archived"] = all.storedFlags[key].Archived // also out of the archive
	if v.Bool("disable_copied_flag") {
		flag["active"] = false
	}
	return storage.Encode(map[string]any{"cohorts": cohorts, "flags": []entry{flag}}), paste, nil
}

// copyTo applies the document of a flag to one project, and creates the scheduled changes there. It
// returns the flag as stored in that project.
func (s Flags) copyTo(ctx context.Context, scope *management.Scope, project int64, key string, document json.RawMessage, paste pasteFunc) (*Flag, error) {
	target, _, err := definitions.InProject(ctx, &s.Env, scope, project)
	if err != nil {
		return nil, err
	}
	if target == nil { // do not reveal whether the project exists
		return nil, management.Fault("", "Project not found.")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(document, &members); err != nil {
		return nil, err
	}
	parsed, err := readDocument(management.Body{Members: members})
	if err != nil {
		return nil, err
	}
	id, err := management.Write(ctx, &s.Env, func(tx storeTx) (int64, error) {
		// The document has one flag, so prune must be false: it would delete all other flags.
		if _, err := s.applyDocument(tx, target, parsed, false, nil); err != nil {
			return 0, err
		}
		d, err := tx.DefinitionByKey(management.FlagDefinition, project, key)
		if err != nil || d == nil {
			return 0, err
		}
		if paste != nil {
			err = paste(tx, target, d)
		}
		return d.ID, err
	})
	if err != nil {
		return nil, err
	}
	return s.Get(ctx, target, id)
}

// projectFlag is the flag with a key in one project, as ListByProject returns it.
type projectFlag struct {
	// ID is the id of the flag in the project Team.
	ID        int64                `json:"flag_id"`
	Team      int64                `json:"team_id"`
	CreatedBy *management.UserView `json:"created_by"`
	// Filters are as stored, without the names of cohorts.
	Filters   json.RawMessage  `json:"filters"`
	CreatedAt management.Stamp `json:"created_at"`
	Active    bool             `json:"active"`
}

// ListByProject returns the flags with a key in all projects of the organization to which the
// caller has access. It returns ErrNotFound if there are no such flags.
func (s Flags) ListByProject(ctx context.Context, scope *management.Scope, key string) ([]projectFlag, error) {
	return management.Read(ctx, &s.Env, func(tx storeTx) ([]projectFlag, error) {
		projects, err := tx.Projects(scope.Organization.ID)
		if err != nil {
			return nil, err
		}
		// Access to a project does not imply access to its flags: findInProject checks that.
		out, v := []projectFlag{}, &view{Tx: tx, Scope: scope}
		for i := range projects {
			if !scope.CanReach(&projects[i]) {
				continue
			}
			flag, err := findInProject(v, &projects[i], key)
			if err != nil {
				return nil, err
			}
			if flag != nil {
				out = append(out, *flag)
			}
		}
		if len(out) == 0 {
			return nil, management.ErrNotFound()
		}
		return out, nil
	})
}

// findInProject returns the flag with a key in a project, or nil if there is no such flag or the
// caller may not see it.
func findInProject(v *view, project *management.ProjectRecord, key string) (*projectFlag, error) {
	d, err := v.Tx.DefinitionByKey(management.FlagDefinition, project.ID, key)
	if err != nil || d == nil {
		return nil, err
	}
	f, err := storedflags.Decode(project.ID, d)
	if err != nil {
		return nil, err
	}
	target, err := management.NewScope(v.Tx, v.Caller, project)
	if err != nil || !target.CanSee(f.AccessObject()) {
		return nil, err
	}
	creator, err := v.Author(f.CreatedBy)
	return &projectFlag{f.ID, f.Project, creator, f.Filters, f.CreatedAt, f.Active}, err
}
