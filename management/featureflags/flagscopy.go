package featureflags

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// CopyFields are what copying a flag takes.
var CopyFields = management.Fields{
	{Name: "feature_flag_key", Type: management.Text, Required: true, MaxLength: 400},
	{Name: "from_project", Type: management.Int, Required: true},
	{Name: "target_project_ids", Type: management.IntList, Required: true, Help: "at most 100 projects of the organization"},
	{Name: "copy_schedule", Type: management.Bool, Help: "also the changes that are to come"},
}

// maxCopies is how many projects a flag is copied to at once.
const maxCopies = 100

// CopyResult is what became of a flag that was copied.
type CopyResult struct {
	Success []Flag        `json:"success"`
	Failed  []copyFailure `json:"failed"`
}

// copyFailure is a project that could not take the flag.
type copyFailure struct {
	Project int64  `json:"project_id"`
	Errors  string `json:"errors"`
}

// ErrMissingFields, ErrNoFlagToCopy and ErrMayNotCopy are told in a form of their
// own (§5.1.3).
var (
	ErrMissingFields = errors.New("Missing required fields")                       //nolint:staticcheck // the text of the API
	ErrNoFlagToCopy  = errors.New("Feature flag to copy does not exist.")          //nolint:staticcheck // the text of the API
	ErrMayNotCopy    = errors.New("You do not have permission to copy this flag.") //nolint:staticcheck // the text of the API
)

// Copy copies a flag, and the cohorts that it needs, into other projects of the
// organization, each in a transaction of its own. A flag of the same key there
// becomes the same, cohorts are found by their names.
func (s Flags) Copy(ctx context.Context, scope *management.Scope, b management.Body) (*CopyResult, error) {
	v, err := CopyFields.Create(b)
	if err != nil || v.Text("feature_flag_key") == "" || len(v.Ints("target_project_ids")) == 0 {
		return nil, ErrMissingFields
	}
	if len(v.Ints("target_project_ids")) > maxCopies {
		return nil, management.CodedFault(management.CodeMaxLength, "target_project_ids", "Ensure this field has no more than %d elements.", maxCopies)
	}
	source, err := s.projectScope(ctx, scope, v.Int("from_project"))
	if err != nil {
		return nil, err
	}
	if source == nil {
		return nil, ErrNoFlagToCopy
	}
	var exported json.RawMessage
	var schedule []storedChange
	err = s.Env.Store.Read(ctx, func(tx Tx) (err error) {
		exported, schedule, err = s.exportFlag(tx, source, v.Text("feature_flag_key"), v.Bool("copy_schedule"))
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &CopyResult{Success: []Flag{}, Failed: []copyFailure{}}
	for _, id := range v.Ints("target_project_ids") {
		f, err := s.copyTo(ctx, scope, id, v.Text("feature_flag_key"), exported, schedule)
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

// projectScope is a project of the organization, nil when there is none that the
// caller may be in.
func (s Flags) projectScope(ctx context.Context, scope *management.Scope, id int64) (*management.Scope, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (*management.Scope, error) {
		p, err := tx.Project(id)
		if err != nil || p == nil || p.Organization != scope.Organization.ID {
			return nil, err
		}
		if !scope.CanReach(p) {
			return nil, ErrMayNotCopy
		}
		return management.NewScope(tx, scope.Caller, p)
	})
}

// exportFlag is the document of one flag, with the cohorts that it needs.
func (s Flags) exportFlag(tx Tx, scope *management.Scope, key string, withSchedule bool) (text json.RawMessage, schedule []storedChange, err error) {
	all, err := s.document(tx, scope)
	if err != nil {
		return nil, nil, err
	}
	if all.flags[key] == nil {
		return nil, nil, ErrNoFlagToCopy
	}
	if !scope.CanSee(all.storedFlags[key].accessObject()) {
		return nil, nil, ErrMayNotCopy
	}
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
	need(all.flags[key]["filters"])
	cohorts := []entry{}
	for _, c := range sortedEntries(all.cohorts) {
		if name, _ := c["name"].(string); needed[name] {
			if !scope.CanSee(all.storedCohorts[name].accessObject()) {
				return nil, nil, ErrMayNotCopy
			}
			cohorts = append(cohorts, omit(c, "members")) // who is in it is each project's own
		}
	}
	if withSchedule {
		id := strconv.FormatInt(all.flagIDs[key], 10)
		list, err := management.ListRecords[storedChange](tx, management.Query{Kind: kindScheduled, Parent: management.ProjectParent(scope.Project.ID), Match: func(r *management.Record) bool {
			c, err := management.Decode[storedChange](r)
			return err == nil && c.RecordID == id && c.ExecutedAt.IsZero()
		}})
		if err != nil {
			return nil, nil, err
		}
		schedule = list.Results
		for i := range schedule {
			schedule[i].forgetCondition(all.storedFlags[key])
		}
	}
	return management.Encode(map[string]any{"cohorts": cohorts, "flags": []entry{all.flags[key]}}), schedule, nil
}

func (s Flags) copyTo(ctx context.Context, scope *management.Scope, project int64, key string, document json.RawMessage, schedule []storedChange) (*Flag, error) {
	target, err := s.projectScope(ctx, scope, project)
	if errors.Is(err, ErrMayNotCopy) || err == nil && target == nil {
		return nil, management.Fault("", "Project not found.")
	}
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(document, &members); err != nil {
		return nil, err
	}
	parsed, err := readDocument(management.Body{Members: members})
	if err != nil {
		return nil, err
	}
	id, err := management.Write(ctx, &s.Env, func(tx Tx) (int64, error) {
		if _, err := s.applyDocument(tx, target, parsed, false, nil); err != nil {
			return 0, err
		}
		d, err := tx.DefinitionByKey(FlagDefinition, project, key)
		if err != nil || d == nil {
			return 0, err
		}
		for i := range schedule {
			c := schedule[i]
			c.Team, c.RecordID, c.Creator = project, strconv.FormatInt(d.ID, 10), scope.User.ID
			if c.ID, err = tx.Next(kindScheduled); err != nil {
				return 0, err
			}
			if err := c.rememberCondition(d); err != nil {
				return 0, err
			}
			if err := putScheduled(tx, &c); err != nil {
				return 0, err
			}
		}
		return d.ID, nil
	})
	if err != nil {
		return nil, err
	}
	return s.Get(ctx, target, id)
}

// projectFlag is a flag of a key in one project.
type projectFlag struct {
	ID        int64                `json:"flag_id"`
	Team      int64                `json:"team_id"`
	CreatedBy *management.UserView `json:"created_by"`
	Filters   json.RawMessage      `json:"filters"`
	CreatedAt management.Stamp     `json:"created_at"`
	Active    bool                 `json:"active"`
}

// ListByProject are the flags of a key in the projects of the organization that the
// caller may be in.
func (s Flags) ListByProject(ctx context.Context, scope *management.Scope, key string) ([]projectFlag, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) ([]projectFlag, error) {
		projects, err := tx.Projects(scope.Organization.ID)
		if err != nil {
			return nil, err
		}
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

// findInProject is the flag of a key in a project, nil where there is none that the caller sees.
func findInProject(v *view, project *management.ProjectRecord, key string) (*projectFlag, error) {
	d, err := v.Tx.DefinitionByKey(FlagDefinition, project.ID, key)
	if err != nil || d == nil {
		return nil, err
	}
	f, err := decodeFlag(project.ID, d)
	if err != nil {
		return nil, err
	}
	target, err := management.NewScope(v.Tx, v.Caller, project)
	if err != nil || !target.CanSee(f.accessObject()) {
		return nil, err
	}
	creator, err := v.Author(f.CreatedBy)
	return &projectFlag{f.ID, f.Project, creator, f.Filters, f.CreatedAt, f.Active}, err
}
