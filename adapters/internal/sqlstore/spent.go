package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management/organizations"
)

// Spending is the use of a resource with a certain token, key and SDK.
type Spending struct {
	// Token is the public key of the project, Key identifies the key that was used.
	Token, Resource, Key, SDK string
	// N is the number of uses.
	N int64
}

// AddSpending adds to the counts of the UTC day of when. Entries with tokens of deleted
// projects are ignored.
func (s *Store) AddSpending(ctx context.Context, when time.Time, list []Spending) error {
	projects, err := s.projectIDsByToken(ctx, len(list), func(i int) string { return list[i].Token })
	if err != nil {
		return err
	}
	return s.db.InWrite(ctx, func(tx *sql.Tx) error {
		for _, x := range list {
			if projects[x.Token] == 0 {
				continue
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO spent (project_id, day, resource, key, sdk, n) VALUES ($1, $2, $3, $4, $5, $6)
				ON CONFLICT (project_id, day, resource, key, sdk) DO UPDATE SET n = spent.n + excluded.n`,
				projects[x.Token], dayOf(when), x.Resource, database.CleanText(x.Key), database.CleanText(x.SDK), x.N); err != nil {
				return fmt.Errorf("counting who spends what: %w", err)
			}
		}
		return nil
	})
}

// projectIDsByToken returns the ids of the projects by token, 0 for tokens of deleted
// projects.
func (s *Store) projectIDsByToken(ctx context.Context, n int, token func(i int) string) (map[string]int64, error) {
	projects := map[string]int64{}
	for i := range n {
		if _, ok := projects[token(i)]; ok {
			continue
		}
		p, err := s.projectByToken(ctx, token(i))
		if err != nil && !errors.Is(err, capture.ErrUnknownKey) {
			return nil, err
		}
		projects[token(i)] = p.ID
	}
	return projects, nil
}

// KeyUsage implements rooms.Tx.
func (t *manageTx) KeyUsage(projectID int64, since time.Time) ([]organizations.KeyUsage, error) {
	return listRows(t, "reading who spends what", func(x *organizations.KeyUsage) []any {
		x.Project = projectID
		return []any{database.ScanDay(&x.Day), &x.Resource, &x.Key, &x.SDK, &x.N}
	}, `SELECT day, resource, key, sdk, n FROM spent WHERE project_id = $1 AND day >= $2 ORDER BY day, resource, key, sdk`, projectID, dayOf(since))
}
