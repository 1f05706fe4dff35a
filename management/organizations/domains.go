package organizations

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"github.com/bunting-flags/bunting/management"
	"regexp"
	"time"
)

// kindDomain is a domain of an organization: Unique and Sort are its name.
const kindDomain = "domain"

// Resolver asks the DNS.
type Resolver interface {
	// TXT returns the TXT records of a host, each as its first string. An error is
	// the same as none.
	TXT(ctx context.Context, host string) ([]string, error)
}

// DefaultChallengeHost is what stands before a domain in the name under which its
// TXT record is looked for (§4.4).
const DefaultChallengeHost = "_posthog-challenge"

// Domain is a domain that an organization says is its own (§2.7 of the interface).
type Domain struct {
	ID              string           `json:"id"`
	Domain          string           `json:"domain"`
	Verified        bool             `json:"is_verified"`
	VerifiedAt      management.Stamp `json:"verified_at"`
	Challenge       string           `json:"verification_challenge"`
	JITProvisioning bool             `json:"jit_provisioning_enabled"`
	SSOEnforcement  string           `json:"sso_enforcement"`
	HasSAML         bool             `json:"has_saml"`
	SAMLEntityID    *string          `json:"saml_entity_id"`
	SAMLConsumerURL *string          `json:"saml_acs_url"`
	SAMLCertificate *string          `json:"saml_x509_cert"`
}

// DomainClaim is how long a domain belongs to an organization that has not proven it:
// then another one may claim it, and the claim is gone.
const DomainClaim = 30 * 24 * time.Hour

// storedDomain is a domain as it is stored.
type storedDomain struct {
	Domain
	Claimed management.Stamp `json:"claimed_at"`
}

// DomainFields are the writable fields of a domain.
var DomainFields = management.Fields{
	{Name: "domain", Type: management.Text, Required: true, Max: 128, Help: "in lower case; fixed once it is verified"},
	{Name: "jit_provisioning_enabled", Type: management.Bool, Help: "only of a verified domain"},
	{Name: "sso_enforcement", Type: management.Text, Blank: true, Max: 28, Help: "only of a verified domain; empty, saml, google-oauth2, github or gitlab"},
	{Name: "saml_entity_id", Type: management.Text, Null: true, Blank: true, Max: 512},
	{Name: "saml_acs_url", Type: management.Text, Null: true, Blank: true, Max: 512},
	{Name: "saml_x509_cert", Type: management.Text, Null: true, Blank: true},
}

// Domains are the domains of organizations (§4.4).
type Domains struct{ *core }

// List returns a page of domains by name.
func (s Domains) List(ctx context.Context, st *management.Standing, p management.Page) (management.List[Domain], error) {
	return management.Read(ctx, &s.Desk, func(tx Tx) (management.List[Domain], error) {
		return management.ListRecords[Domain](tx, management.Query{Kind: kindDomain, Parent: st.Organization.ID, Offset: p.Offset, Limit: p.Limit})
	})
}

// Get returns one domain.
func (s Domains) Get(ctx context.Context, st *management.Standing, id string) (*Domain, error) {
	return management.Read(ctx, &s.Desk, func(tx Tx) (*Domain, error) { return domain(tx, st, id) })
}

func domain(tx Tx, st *management.Standing, id string) (*Domain, error) {
	id, ok := management.NormalUUID(id)
	if !ok {
		return nil, management.ErrNotFound()
	}
	r, err := tx.Get(kindDomain, st.Organization.ID, id)
	if err == nil && r == nil {
		err = management.ErrNotFound()
	}
	if err != nil {
		return nil, err
	}
	return management.Decode[Domain](r)
}

// domainName is a name of at least two labels in lower case (§4.4).
var domainName = regexp.MustCompile(`^(?:[a-z0-9]+(?:-[a-z0-9]+)*\.)+[a-z]{2,}$`)

func checkDomainName(name string) error {
	if !domainName.MatchString(name) {
		return management.Fault("domain", "Please enter a valid domain or subdomain name.")
	}
	return nil
}

// Create adds a domain, which is not verified yet. Settings that need a verified
// one are left out.
func (s Domains) Create(ctx context.Context, st *management.Standing, b management.Body) (*Domain, error) {
	if !st.Admin() {
		return nil, management.Denied(management.MsgLevel)
	}
	v, err := DomainFields.Create(b)
	if err != nil {
		return nil, err
	}
	if err := checkDomainName(v.Text("domain")); err != nil {
		return nil, err
	}
	var challenge [32]byte
	_, _ = rand.Read(challenge[:]) // never fails
	d := &Domain{ID: s.Desk.NewID(), Domain: v.Text("domain"), Challenge: base64.RawURLEncoding.EncodeToString(challenge[:])}
	d.setSAML(v)
	return d, s.Desk.Store.Write(ctx, func(tx Tx) error { return s.putDomain(tx, st, d) })
}

func (d *Domain) setSAML(v management.Values) {
	management.SetNull(v, "saml_entity_id", &d.SAMLEntityID)
	management.SetNull(v, "saml_acs_url", &d.SAMLConsumerURL)
	management.SetNull(v, "saml_x509_cert", &d.SAMLCertificate)
	full := func(text *string) bool { return text != nil && *text != "" }
	d.HasSAML = full(d.SAMLEntityID) && full(d.SAMLConsumerURL) && full(d.SAMLCertificate)
}

// putDomain saves a domain. It takes the name over from a claim that has expired.
func (s Domains) putDomain(tx Tx, st *management.Standing, d *Domain) error {
	stored := storedDomain{*d, management.At(s.Desk.Now())}
	r, err := tx.Find(kindDomain, d.Domain)
	if err != nil {
		return err
	}
	holder, err := management.Decode[storedDomain](r)
	switch {
	case err != nil:
		return err
	case holder == nil:
	case holder.ID == d.ID:
		stored.Claimed = holder.Claimed
	case holder.Verified || s.Desk.Now().Sub(holder.Claimed.Time) <= DomainClaim:
		return management.Coded(management.CodeUnique, "domain", "domain with this domain already exists.")
	default:
		if err := tx.Delete(kindDomain, r.Parent, r.ID); err != nil {
			return err
		}
	}
	return tx.Put(&management.Record{Kind: kindDomain, Parent: st.Organization.ID, ID: d.ID, Sort: d.Domain, Unique: d.Domain, Data: management.Encode(stored)})
}

// Update changes a domain. put: all required fields have to be there.
func (s Domains) Update(ctx context.Context, st *management.Standing, id string, b management.Body, put bool) (*Domain, error) {
	if !st.Admin() {
		return nil, management.Denied(management.MsgLevel)
	}
	return management.Write(ctx, &s.Desk, func(tx Tx) (*Domain, error) {
		d, err := domain(tx, st, id)
		if err != nil {
			return nil, err
		}
		v, err := DomainFields.Update(b, put)
		if err != nil {
			return nil, err
		}
		if !d.Verified {
			for _, name := range []string{"jit_provisioning_enabled", "sso_enforcement"} {
				if v.Has(name) {
					return nil, management.Coded("verification_required", name, "This attribute cannot be updated until the domain is verified.")
				}
			}
			if v.Has("domain") {
				if err := checkDomainName(v.Text("domain")); err != nil {
					return nil, err
				}
				d.Domain = v.Text("domain")
			}
		}
		management.Set(v, "jit_provisioning_enabled", &d.JITProvisioning)
		management.Set(v, "sso_enforcement", &d.SSOEnforcement)
		d.setSAML(v)
		return d, s.putDomain(tx, st, d)
	})
}

// Delete takes a domain away for good.
func (s Domains) Delete(ctx context.Context, st *management.Standing, id string) error {
	if !st.Admin() {
		return management.Denied(management.MsgLevel)
	}
	return s.Desk.Store.Write(ctx, func(tx Tx) error {
		d, err := domain(tx, st, id)
		if err != nil {
			return err
		}
		return tx.Delete(kindDomain, st.Organization.ID, d.ID)
	})
}

// Verify looks for the domain's TXT record. Without it the domain stays as it is.
func (s Domains) Verify(ctx context.Context, st *management.Standing, id string) (*Domain, error) {
	if !st.Admin() {
		return nil, management.Denied(management.MsgLevel)
	}
	d, err := s.Get(ctx, st, id)
	switch {
	case err != nil:
		return nil, err
	case d.Verified:
		return nil, errVerified()
	case !s.proven(ctx, d):
		return d, nil
	}
	return management.Write(ctx, &s.Desk, func(tx Tx) (*Domain, error) {
		again, err := domain(tx, st, id)
		switch {
		case err != nil:
			return nil, err
		case again.Verified:
			return nil, errVerified()
		case again.Domain != d.Domain: // what was proven is another name
			return again, nil
		}
		again.Verified, again.VerifiedAt = true, management.At(s.Desk.Now())
		return again, s.putDomain(tx, st, again)
	})
}

func errVerified() error {
	return management.Coded("already_verified", "", "This domain has already been verified.")
}

// proven asks the DNS for the challenge.
func (s Domains) proven(ctx context.Context, d *Domain) bool {
	if s.Resolver == nil {
		return false
	}
	records, err := s.Resolver.TXT(ctx, s.ChallengeHost+"."+d.Domain)
	if err != nil {
		return false
	}
	for _, text := range records {
		if text == d.Challenge {
			return true
		}
	}
	return false
}
