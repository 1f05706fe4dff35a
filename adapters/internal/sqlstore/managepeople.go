package sqlstore

import (
	"context"
	"fmt"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/people"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

var _ management.People = managementStore{}

// peopleStep is the number of persons or groups that a scan for management reads at a
// time.
const peopleStep = 500

// Persons implements management.People. The scan is not a snapshot: a person that
// changes during the scan is visited in the state before or after the change.
func (s managementStore) Persons(ctx context.Context, projectID int64, visit func(*management.Person) bool) error {
	for after := int64(0); ; {
		page, next, err := s.People(ctx, projectID, capture.PersonQuery{After: after, Limit: peopleStep})
		if err != nil {
			return err
		}
		for i := range page {
			p, err := convertPerson(&page[i])
			if err != nil {
				return err
			}
			if !visit(p) {
				return nil
			}
		}
		if next == 0 {
			return nil
		}
		after = next
	}
}

// PersonByUUID implements management.People. It returns nil if uuid is not a UUID.
func (s managementStore) PersonByUUID(ctx context.Context, projectID int64, uuid string) (*management.Person, error) {
	id, ok := wire.ParseUUID(uuid)
	if !ok {
		return nil, nil
	}
	p, err := s.Store.PersonByUUID(ctx, projectID, id)
	if err != nil || p == nil {
		return nil, err
	}
	return convertPerson(p)
}

// PersonByDistinctID implements management.People.
func (s managementStore) PersonByDistinctID(ctx context.Context, projectID int64, distinctID string) (*management.Person, error) {
	p, err := s.PersonForDistinctID(ctx, projectID, distinctID)
	if err != nil || p == nil {
		return nil, err
	}
	return convertPerson(p)
}

// CountPersons implements management.People.
func (s managementStore) CountPersons(ctx context.Context, projectID int64) (int, error) {
	n, err := s.CountPeople(ctx, projectID)
	return int(n), err
}

// Groups implements management.People.
func (s managementStore) Groups(ctx context.Context, projectID int64, index int, visit func(key string, properties map[string]any) bool) error {
	for after := ""; ; {
		page, next, err := s.Store.Groups(ctx, projectID, index, after, "", peopleStep)
		if err != nil {
			return err
		}
		for i := range page {
			properties, err := people.ParseProperties(page[i].Properties.AppendJSON(nil))
			if err != nil {
				return fmt.Errorf("the stored properties of group %q: %w", page[i].Key, err)
			}
			if !visit(page[i].Key, properties) {
				return nil
			}
		}
		if next == "" {
			return nil
		}
		after = next
	}
}

// convertPerson converts a stored person to the type of package management.
func convertPerson(p *capture.StoredPerson) (*management.Person, error) {
	properties, err := people.ParseProperties(p.Properties.AppendJSON(nil))
	if err != nil {
		return nil, fmt.Errorf("the stored properties of person %s: %w", p.UUID, err)
	}
	return &management.Person{UUID: p.UUID.String(), Name: p.Name(), DistinctIDs: p.DistinctIDs, Properties: properties, CreatedAt: p.CreatedAt}, nil
}
