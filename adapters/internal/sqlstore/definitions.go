package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// ProjectByKey implements serving.Source. The error is flags.ErrUnknownKey if no project
// has the key.
func (s *Store) ProjectByKey(ctx context.Context, apiKey string) (flags.Project, error) {
	p := flags.Project{APIKey: strings.Clone(apiKey)}
	var paused string
	var quotas sql.NullString
	err := sql.ErrNoRows
	if strings.IndexByte(apiKey, 0) < 0 { // PostgreSQL does not accept U+0000 in strings
		err = s.db.LookUp(ctx, database.LookupTime, func(ctx context.Context) error {
			return s.db.Quick.QueryRowContext(ctx, `SELECT p.id, p.name, p.organization_id, p.revision, p.paused, p.browser, o.quotas
				FROM projects p LEFT JOIN organizations o ON o.id = p.organization_id
				WHERE p.api_key = $1 AND p.deleted = 0`, apiKey).
				Scan(&p.ID, &p.Name, &p.OrganizationID, &p.Revision, &paused, &p.Browser, &quotas)
		})
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return flags.Project{}, fmt.Errorf("%w: no project has it", flags.ErrUnknownKey)
	case err != nil:
		return flags.Project{}, fmt.Errorf("looking for a project: %w", s.db.Dialect.Explain(err))
	}
	limits, err := readQuotas(quotas.String)
	if err == nil {
		err = json.Unmarshal([]byte(paused), &p.QuotaLimited)
	}
	if err != nil {
		return flags.Project{}, fmt.Errorf("project %d: quotas: %w", p.ID, err)
	}
	if limit, ok := limits[flagsResource]; ok {
		p.FlagLimit = &limit
	}
	return p, nil
}

// readQuotas parses the limits of an organization, a JSON object by resource. A
// resource whose limit is null has no limit and is left out.
func readQuotas(text string) (map[string]int64, error) {
	if text == "" {
		return nil, nil
	}
	var all map[string]*int64
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, err
	}
	out := make(map[string]int64, len(all))
	for resource, limit := range all {
		if limit != nil {
			out[resource] = *limit
		}
	}
	return out, nil
}

// The kinds of rows of definitionRows.
const (
	rowSettings = iota
	rowGroupType
	rowFlag
	rowCohort
)

// definitionRows selects all definitions of a project in one statement, so that they
// are a consistent snapshot.
const definitionRows = `SELECT 0 AS kind, id, settings FROM projects WHERE id = $1
	UNION ALL SELECT 1, type_index, name FROM group_types WHERE project_id = $1
	UNION ALL SELECT 2, id, record FROM flag_records WHERE project_id = $1 AND deleted = 0
	UNION ALL SELECT 3, id, record FROM cohort_records WHERE project_id = $1 AND deleted = 0
	ORDER BY kind, id`

// Definitions implements serving.Source. The result does not contain the members of
// static cohorts: Stored returns the cohorts of a person.
func (s *Store) Definitions(ctx context.Context, p flags.Project) (flags.Definitions, error) {
	text, err := s.DefinitionsText(ctx, p.ID)
	if err != nil {
		return flags.Definitions{}, err
	}
	return flags.ParseDefinitions(text)
}

// DefinitionsText returns the definitions of a project as a JSON document for
// flags.ParseDefinitions.
func (s *Store) DefinitionsText(ctx context.Context, projectID int64) (text []byte, err error) {
	err = s.db.LookUp(ctx, 5*database.LookupTime, func(ctx context.Context) error { // there may be many definitions
		text, err = s.definitionsJSON(ctx, projectID)
		return err
	})
	return text, s.db.ReadError(fmt.Sprintf("the definitions of project %d", projectID), err)
}

// definitionsJSON reads and assembles the document of DefinitionsText.
func (s *Store) definitionsJSON(ctx context.Context, projectID int64) ([]byte, error) {
	out := map[string]json.RawMessage{}
	list, cohorts, types := []json.RawMessage{}, map[string]json.RawMessage{}, map[string]string{}
	err := database.Query(ctx, s.db.Quick, func(rows *sql.Rows) error {
		var kind int
		var id int64
		var text string
		if err := rows.Scan(&kind, &id, &text); err != nil {
			return err
		}
		switch kind {
		case rowSettings:
			return database.WrapError("settings", json.Unmarshal([]byte(text), &out))
		case rowGroupType:
			types[strconv.FormatInt(id, 10)] = text
		case rowFlag:
			list = append(list, json.RawMessage(text))
		case rowCohort:
			cohorts[strconv.FormatInt(id, 10)] = json.RawMessage(text)
		}
		return nil
	}, definitionRows, projectID)
	if err != nil {
		return nil, err
	}
	for name, v := range map[string]any{"flags": list, "cohorts": cohorts, "group_type_mapping": types} {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = text
	}
	return json.Marshal(out)
}

var _ serving.Source = (*Store)(nil)
