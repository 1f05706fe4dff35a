package organizations

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

const (
	// programLife is how long a program can wait for consent (clients.md §14.2).
	programLife = 10 * time.Minute
	// programInterval is the least time between two polls of a program.
	programInterval = 5 * time.Second
	// pollSlack is how much sooner a poll may arrive, since the latency of requests varies.
	pollSlack = time.Second

	// maxPrograms is the greatest number of waiting programs, maxProgramsFrom that of one address.
	// More are refused instead of replacing older programs, so that no client can displace the programs
	// of others.
	maxPrograms     = 10_000
	maxProgramsFrom = 30

	maxProgramName = 40
)

// The states of a stored program that is decided. That of a pending one is empty.
const (
	programAuthorized = "authorized"
	programDenied     = "denied"
)

// programScopes are the scopes of a program that requests none.
var programScopes = []string{"event_definition:read", "property_definition:read", "error_tracking:write"}

// Programs gives command line programs a key after a person has confirmed their code, like OAuth's
// device flow (clients.md §14.2). A program calls Begin and then Poll; the person calls Inspect,
// and Authorize or Deny.
type Programs struct{ *core }

var (
	// programFields are the fields of Begin.
	programFields = management.Fields{
		{Name: "client", Type: management.Text, MaxLength: maxProgramName, Help: "name of the program"},
		{Name: "scopes", Type: management.TextList, MaxLength: 100, Custom: true, Help: "scopes that the key will have; by default " + strings.Join(programScopes, ", ")},
	}
	// pollFields are the fields of Poll.
	pollFields = management.Fields{{Name: "device_code", Type: management.Text, Required: true, MaxLength: 100}}
	// userCodeFields are the fields of Inspect and Deny, with the code that the program displays.
	userCodeFields = management.Fields{{Name: "user_code", Type: management.Text, Required: true, MaxLength: 40, Help: "the code that the program shows, such as BCDF-GHJK, in upper or lower case"}}
	// authorizeFields are the fields of Authorize.
	authorizeFields = append(userCodeFields[:1:1],
		management.Field{Name: "project_id", Type: management.Int, Required: true, Help: "id of the only project that the key can access"},
		management.Field{Name: "scopes", Type: management.TextList, MaxLength: 100, Custom: true, Help: "scopes of the key; by default those that the program requests"},
	)
)

// storedProgram is a waiting program. Hash and Mask are those of its future key, whose text is
// derived from the device code that only the program has.
type storedProgram struct {
	ID      string           `json:"id"`
	Client  string           `json:"client"`
	Scopes  []string         `json:"scopes"`
	Hash    string           `json:"hash"`
	Mask    string           `json:"mask"`
	State   string           `json:"state,omitempty"`
	Key     string           `json:"key,omitempty"` // the id of the key, after consent
	Label   string           `json:"label,omitempty"`
	Project int64            `json:"project,omitempty"`
	Polled  management.Stamp `json:"polled"`
	Expires management.Stamp `json:"expires"`

	record management.Record
}

// program is the description of a program for the person who decides about it.
type program struct {
	Client    string           `json:"client"`
	Scopes    []string         `json:"scopes"`
	ExpiresAt management.Stamp `json:"expires_at"`
}

// programCodes are the codes of a new program, how long it can wait, and the least time between two
// polls.
type programCodes struct {
	Device, User   string
	Life, Interval time.Duration
}

// poll is the response to a poll. State is pending, slow_down, denied, expired or authorized; only
// then the other members are set.
type poll struct {
	State, Key, Label string
	Project           int64
	Scopes            []string
}

// errNoCode is the error for an unknown or expired user code.
func errNoCode() error {
	return management.CodedFault("invalid_code", "user_code", "This code is unknown or has expired: request a new one in the program.")
}

// errNoAccess returns an error of kind Forbidden with the code access_denied.
func errNoAccess(text string) error {
	return &management.Error{Kind: management.Forbidden, Code: "access_denied", Message: text}
}

// Begin registers a program. from is the address of the program.
func (s Programs) Begin(ctx context.Context, b management.Body, from string) (*programCodes, error) {
	v, err := programFields.Create(b)
	if err != nil {
		return nil, err
	}
	scopes, err := readScopes(v, programScopes)
	if err != nil {
		return nil, err
	}
	out := &programCodes{Device: newToken(), Life: programLife, Interval: programInterval}
	key := keyOfDevice(out.Device)
	until := s.Env.Now().Add(programLife)
	p := &storedProgram{ID: deviceID(out.Device), Expires: management.NewStamp(until), Client: strings.TrimSpace(v.Text("client")), Scopes: scopes, Hash: management.HashKey(key), Mask: management.MaskKey(key)}
	return out, s.Env.Store.Write(ctx, func(tx Tx) error {
		if err := s.deleteExpiredPrograms(tx); err != nil {
			return err
		}
		if err := checkProgramLimit(tx, from); err != nil {
			return err
		}
		if out.User, err = freeUserCode(tx); err != nil {
			return err
		}
		// The user code is only in the header, as a hash; the header is kept for later changes.
		p.record = management.Record{Kind: kindProgram, ID: p.ID, Other: from, Sort: storage.SortTime(until), Unique: management.HashKey(out.User)}
		return p.put(tx)
	})
}

// readScopes returns the scopes of a body, sorted and without duplicates, or fallback if it has
// none.
func readScopes(v management.Values, fallback []string) ([]string, error) {
	scopes := slices.Clone(v.Texts("scopes"))
	for _, scope := range scopes {
		if !isScope(scope) {
			return nil, management.CodedFault("invalid_scope", "scopes", "Invalid scope: %s.", plain.ShortText(scope))
		}
	}
	if len(scopes) == 0 {
		return fallback, nil
	}
	slices.Sort(scopes)
	return slices.Compact(scopes), nil
}

// checkProgramLimit returns an error if too many programs are waiting, in all or from one address.
func checkProgramLimit(tx Tx, from string) error {
	for _, bound := range []struct {
		q   management.Query
		max int
	}{{management.Query{Kind: kindProgram, Limit: 1}, maxPrograms}, {management.Query{Kind: kindProgram, Other: from, Limit: 1}, maxProgramsFrom}} {
		_, n, err := tx.List(bound.q)
		if err != nil {
			return err
		}
		if n >= bound.max {
			return &management.Error{Kind: management.TooMany, Code: "throttled", Message: "Too many programs are waiting for approval: try again in a few minutes."}
		}
	}
	return nil
}

// put stores the program under the header of its record.
func (p *storedProgram) put(tx Tx) error {
	p.record.Data = storage.Encode(p)
	return tx.Put(&p.record)
}

// remove deletes the program.
func (p *storedProgram) remove(tx Tx) error { return tx.Delete(kindProgram, "", p.ID) }

// decodeProgram returns the program of a record, or nil if there is no record or it has expired.
func (s *core) decodeProgram(r *management.Record, err error) (*storedProgram, error) {
	if err != nil || r == nil || r.Sort <= storage.SortTime(s.Env.Now()) {
		return nil, err
	}
	p, err := management.Decode[storedProgram](r)
	if p != nil {
		p.record = *r
	}
	return p, err
}

// deleteExpiredPrograms deletes some of the expired programs, with keys that they have not
// received.
func (s *core) deleteExpiredPrograms(tx Tx) error {
	list, _, err := tx.List(management.Query{Kind: kindProgram, To: storage.SortTime(s.Env.Now()), Limit: 100})
	for i := range list {
		if err != nil {
			return err
		}
		var p *storedProgram
		if p, err = management.Decode[storedProgram](&list[i]); err == nil && p.Key != "" {
			err = tx.DeleteKey(p.Key)
		}
		if err == nil {
			err = p.remove(tx)
		}
	}
	return err
}

// Poll returns the state of a program. The key is returned once; then the program is deleted.
func (s Programs) Poll(ctx context.Context, b management.Body) (poll, error) {
	v, err := pollFields.Create(b)
	if err != nil {
		return poll{}, err
	}
	device := v.Text("device_code")
	return management.Write(ctx, &s.Env, func(tx Tx) (poll, error) {
		if err := s.deleteExpiredPrograms(tx); err != nil {
			return poll{}, err
		}
		p, err := s.decodeProgram(tx.Get(kindProgram, "", deviceID(device)))
		switch {
		case err != nil:
			return poll{}, err
		case p == nil:
			return poll{State: "expired"}, nil
		// Polled does not change here, so a program that polls too often is not delayed further.
		case s.Env.Now().Before(p.Polled.Add(programInterval - pollSlack)):
			return poll{State: "slow_down"}, nil
		case p.State == programDenied:
			return poll{State: programDenied}, p.remove(tx)
		case p.State == programAuthorized:
			return poll{State: programAuthorized, Key: keyOfDevice(device), Label: p.Label, Project: p.Project, Scopes: p.Scopes}, p.remove(tx)
		}
		p.Polled = management.NewStamp(s.Env.Now())
		return poll{State: "pending"}, p.put(tx)
	})
}

// findPendingProgram returns the program of a user code that is still undecided. The caller must
// have a session: a key cannot give consent in the name of a person.
func (s *core) findPendingProgram(tx Tx, scope *management.Scope, v management.Values) (*storedProgram, error) {
	if scope.Session == nil {
		return nil, errNoAccess("Only a user who is signed in to the console can approve programs, not a key.")
	}
	p, err := s.decodeProgram(tx.Find(kindProgram, management.HashKey(normalizeUserCode(v.Text("user_code")))))
	switch {
	case err != nil:
		return nil, err
	case p == nil || p.State == programDenied:
		return nil, errNoCode()
	case p.State == programAuthorized:
		return nil, management.CodedFault("already_authorized", "user_code", "This code has already been used.")
	}
	return p, nil
}

// Inspect returns the description of a program without deciding about it.
func (s Programs) Inspect(ctx context.Context, scope *management.Scope, b management.Body) (*program, error) {
	v, err := userCodeFields.Create(b)
	if err != nil {
		return nil, err
	}
	return management.Read(ctx, &s.Env, func(tx Tx) (*program, error) {
		p, err := s.findPendingProgram(tx, scope, v)
		if err != nil {
			return nil, err
		}
		return &program{Client: p.Client, Scopes: p.Scopes, ExpiresAt: p.Expires}, nil
	})
}

// Deny refuses a program.
func (s Programs) Deny(ctx context.Context, scope *management.Scope, b management.Body) error {
	v, err := userCodeFields.Create(b)
	if err != nil {
		return err
	}
	return s.Env.Store.Write(ctx, func(tx Tx) error {
		p, err := s.findPendingProgram(tx, scope, v)
		if err != nil {
			return err
		}
		p.State = programDenied
		return p.put(tx)
	})
}

// Authorize creates the key of a program for one project, with at most the rights of the caller.
func (s Programs) Authorize(ctx context.Context, scope *management.Scope, b management.Body) (*APIKey, error) {
	v, err := authorizeFields.Create(b)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Env, func(tx Tx) (*APIKey, error) {
		p, err := s.findPendingProgram(tx, scope, v)
		if err != nil {
			return nil, err
		}
		// The person may choose other scopes than the program has requested.
		if p.Scopes, err = readScopes(v, p.Scopes); err != nil {
			return nil, err
		}
		projectScope, err := scopeForProgram(tx, scope, v.Int("project_id"))
		if err != nil {
			return nil, err
		}
		if err := checkKeyLimit(tx, scope.User.ID); err != nil {
			return nil, err
		}
		now := s.Env.Now()
		// The label has the project and the time, so that the person can tell such keys apart
		// later.
		name := []rune(projectScope.Project.Name)
		k := &ownKey{KeyRecord: management.KeyRecord{
			ID: management.RandomText(24), User: scope.User.ID, CreatedAt: now, Hash: p.Hash, Mask: p.Mask, Scopes: p.Scopes, Projects: []int64{projectScope.Project.ID},
			Label: "CLI - " + string(name[:min(len(name), maxKeyLabel-len("CLI -  - 2006-01-02 15:04"))]) + " - " + now.UTC().Format("2006-01-02 15:04"),
		}}
		// A session that was created from a restricted key has only the rights of that key.
		if err := checkKeyWithin(scope.Caller, &k.KeyRecord); err != nil {
			return nil, errNoAccess(err.Error())
		}
		p.State, p.Key, p.Label, p.Project = programAuthorized, k.ID, k.Label, projectScope.Project.ID
		if err := p.put(tx); err != nil {
			return nil, err
		}
		// Add logs the key; its value is unknown to the server until the program polls.
		return s.keys.Add(&view{Tx: tx, Scope: scope}, k)
	})
}

// scopeForProgram returns the scope in the key's future project, in which the caller must be
// allowed to use keys.
func scopeForProgram(tx Tx, scope *management.Scope, id int64) (*management.Scope, error) {
	p, err := tx.Project(id)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, management.CodedFault("invalid_project", "project_id", "There is no such project.")
	}
	projectScope, err := management.NewScope(tx, scope.Caller, p)
	if err != nil {
		return nil, err
	}
	if projectScope.Organization == nil || !projectScope.CanReach(p) || !projectScope.CanOpenOrganization(p.Organization) {
		return nil, errNoAccess("You don't have access to the project.")
	}
	meta, err := management.MetaOfOrganization(projectScope.Organization)
	if err == nil && meta.NoMemberKeys && !projectScope.IsAdmin() {
		err = errNoAccess("The organization does not allow its members to use personal API keys.")
	}
	return projectScope, err
}
