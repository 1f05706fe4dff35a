package organizations

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"regexp"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// kindDomain is a domain of an organization: Unique and Sort are its name.
const kindDomain = "domain"

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

// domainClaim is how long a domain belongs to an organization that has not proven it:
// then another one may claim it, and the claim is gone.
const domainClaim = 30 * 24 * time.Hour

// storedDomain is a domain as it is stored.
type storedDomain struct {
	Domain
	Claimed management.Stamp `json:"claimed_at"`
}

// DomainFields are the writable fields of a domain.
var DomainFields = management.Fields{
	{Name: "domain", Type: management.Text, Required: true, Max: 128, Ruled: true, Help: "in lower case; fixed once it is verified"},
	{Name: "jit_provisioning_enabled", Type: management.Bool, Ruled: true, Help: "only of a verified domain"},
	{Name: "sso_enforcement", Type: management.Text, Blank: true, Max: 28, Ruled: true, Help: "only of a verified domain; empty, saml, google-oauth2, github or gitlab"},
	{Name: "saml_entity_id", Type: management.Text, Null: true, Blank: true, Max: 512},
	{Name: "saml_acs_url", Type: management.Text, Null: true, Blank: true, Max: 512},
	{Name: "saml_x509_cert", Type: management.Text, Null: true, Blank: true},
}

// Domains are the domains of organizations (§4.4).
type Domains struct {
	*core
	management.Resource[Tx, storedDomain, Domain]
}

func newDomains(c *core) (s Domains) {
	s.core = c
	s.Resource = management.NewResource(&c.Desk, management.Spec[Tx, storedDomain, Domain]{
		Kind: kindDomain, Fields: DomainFields, Admins: true, Parent: ofOrganization,
		Place: func(_ *management.Standing, d *storedDomain) management.Place {
			return management.Place{ID: d.ID, Sort: d.Domain.Domain, Unique: d.Domain.Domain}
		},
		New: func(*view) (*storedDomain, error) {
			var challenge [32]byte
			_, _ = rand.Read(challenge[:]) // never fails
			return &storedDomain{Domain: Domain{ID: c.Desk.NewID(), Challenge: base64.RawURLEncoding.EncodeToString(challenge[:])}}, nil
		},
		Rules: s.rules,
		Show:  func(_ *view, d *storedDomain) (*Domain, error) { return &d.Domain, nil },
	})
	return s
}

// domainName is a name of at least two labels in lower case (§4.4).
var domainName = regexp.MustCompile(`^(?:[a-z0-9]+(?:-[a-z0-9]+)*\.)+[a-z]{2,}$`)

func checkDomainName(name string) error {
	if !domainName.MatchString(name) {
		return management.Fault("domain", "Please enter a valid domain or subdomain name.")
	}
	return nil
}

// rules check a domain. Settings that need a verified one are left out of a new one.
func (s Domains) rules(e *management.Edit[Tx, storedDomain]) error {
	d, v := e.Now, e.Values
	full := func(text *string) bool { return text != nil && *text != "" }
	d.HasSAML = full(d.SAMLEntityID) && full(d.SAMLConsumerURL) && full(d.SAMLCertificate)
	for _, name := range []string{"jit_provisioning_enabled", "sso_enforcement"} {
		if !e.Fresh && !d.Verified && v.Has(name) {
			return management.Coded("verification_required", name, "This attribute cannot be updated until the domain is verified.")
		}
	}
	if d.Verified {
		management.Set(v, "jit_provisioning_enabled", &d.JITProvisioning)
		management.Set(v, "sso_enforcement", &d.SSOEnforcement)
	} else if v.Has("domain") {
		d.Domain.Domain = v.Text("domain")
		if err := checkDomainName(d.Domain.Domain); err != nil {
			return err
		}
	}
	return s.claim(e.Tx, d)
}

// claim looks whether a domain may have its name. It takes the name over from a claim
// that has expired.
func (s Domains) claim(tx Tx, d *storedDomain) error {
	d.Claimed = management.At(s.Desk.Now())
	r, err := tx.Find(kindDomain, d.Domain.Domain)
	if err != nil {
		return err
	}
	holder, err := management.Decode[storedDomain](r)
	switch {
	case err != nil:
		return err
	case holder == nil:
	case holder.ID == d.ID:
		d.Claimed = holder.Claimed
	case holder.Verified || s.Desk.Now().Sub(holder.Claimed.Time) <= domainClaim:
		return management.Coded(management.CodeUnique, "domain", "domain with this domain already exists.")
	default:
		return tx.Delete(kindDomain, r.Parent, r.ID)
	}
	return nil
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
	return management.Act(ctx, s.Resource, st, id, func(e *management.Edit[Tx, storedDomain]) error {
		switch again := e.Now; {
		case again.Verified:
			return errVerified()
		case again.Domain.Domain == d.Domain: // else what was proven is another name
			again.Verified, again.VerifiedAt = true, management.At(s.Desk.Now())
		}
		return nil
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
