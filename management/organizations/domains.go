package organizations

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"regexp"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// kindDomain is the kind of records of domains: Parent is the organization, Unique and Sort are the
// name.
const kindDomain = "domain"

// DefaultChallengeHost is the label in front of a domain in the name of its TXT record (§4.4).
const DefaultChallengeHost = "_posthog-challenge"

// domain is a domain that an organization claims as its own (§2.7 of the interface).
type domain struct {
	ID     string `json:"id"`
	Domain string `json:"domain"`
	// Verified reports whether the DNS has the challenge; VerifiedAt is null before.
	Verified   bool             `json:"is_verified"`
	VerifiedAt management.Stamp `json:"verified_at"`
	Challenge  string           `json:"verification_challenge"`
	// JITProvisioning creates accounts for people of the domain who sign in with a provider.
	// SSOEnforcement is the name of a provider, or empty.
	JITProvisioning bool   `json:"jit_provisioning_enabled"`
	SSOEnforcement  string `json:"sso_enforcement"`
	// HasSAML reports whether all three SAML fields are set. They are only stored.
	HasSAML         bool    `json:"has_saml"`
	SAMLEntityID    *string `json:"saml_entity_id"`
	SAMLConsumerURL *string `json:"saml_acs_url"`
	SAMLCertificate *string `json:"saml_x509_cert"`
}

// domainClaim is how long an unverified domain is reserved for the organization that claimed it.
// Later another organization may claim it, which deletes the old claim.
const domainClaim = 30 * 24 * time.Hour

// storedDomain is the stored form of a domain.
type storedDomain struct {
	domain
	Claimed management.Stamp `json:"claimed_at"`
}

// domainFields are the writable fields of a domain.
var domainFields = management.Fields{
	{Name: "domain", Type: management.Text, Required: true, MaxLength: 128, Custom: true, Help: "domain name in lower case; cannot be changed after verification"},
	{Name: "jit_provisioning_enabled", Type: management.Bool, Custom: true, Help: "requires a verified domain"},
	{Name: "sso_enforcement", Type: management.Text, Blank: true, MaxLength: 28, Custom: true, Help: "requires a verified domain; empty, saml, google-oauth2, github or gitlab"},
	{Name: "saml_entity_id", Type: management.Text, Null: true, Blank: true, MaxLength: 512},
	{Name: "saml_acs_url", Type: management.Text, Null: true, Blank: true, MaxLength: 512},
	{Name: "saml_x509_cert", Type: management.Text, Null: true, Blank: true},
}

// Domains manages the domains of organizations (§4.4).
type Domains struct {
	*core
	resource.Resource[Tx, storedDomain, domain]
}

// newDomains returns the service. Each new domain gets a random challenge, which its TXT record
// must contain.
func newDomains(c *core) (s Domains) {
	s.core = c
	s.Resource = resource.NewResource(&c.Env, resource.Spec[Tx, storedDomain, domain]{
		Kind: kindDomain, ActivityScope: "OrganizationDomain", Fields: domainFields, AdminsOnly: true, Parent: organizationParent,
		Header: func(_ *management.Scope, d *storedDomain) resource.RecordHeader {
			return resource.RecordHeader{ID: d.ID, Title: d.domain.Domain, Sort: d.domain.Domain, Unique: d.domain.Domain}
		},
		New: func(*view) (*storedDomain, error) {
			var challenge [32]byte
			_, _ = rand.Read(challenge[:]) // never fails
			return &storedDomain{domain: domain{ID: c.Env.NewID(), Challenge: base64.RawURLEncoding.EncodeToString(challenge[:])}}, nil
		},
		Rules: s.rules,
		Show:  func(_ *view, d *storedDomain) (*domain, error) { return &d.domain, nil },
	})
	return s
}

// domainName matches names of at least two labels in lower case (§4.4).
var domainName = regexp.MustCompile(`^(?:[a-z0-9]+(?:-[a-z0-9]+)*\.)+[a-z]{2,}$`)

// checkDomainName returns an error if name is not a valid domain name.
func checkDomainName(name string) error {
	if !domainName.MatchString(name) {
		return management.Fault("domain", "Please enter a valid domain or subdomain name.")
	}
	return nil
}

// rules check a domain and set its name and HasSAML. The name is fixed after verification. The
// settings that require verification are ignored for a new domain, and an error for an old
// unverified one.
func (s Domains) rules(e *resource.Edit[Tx, storedDomain]) error {
	d, v := e.After, e.Values
	isFilled := func(text *string) bool { return text != nil && *text != "" }
	d.HasSAML = isFilled(d.SAMLEntityID) && isFilled(d.SAMLConsumerURL) && isFilled(d.SAMLCertificate)
	for _, name := range []string{"jit_provisioning_enabled", "sso_enforcement"} {
		if !e.IsNew && !d.Verified && v.Has(name) {
			return management.CodedFault("verification_required", name, "This attribute cannot be updated until the domain is verified.")
		}
	}
	if d.Verified {
		management.Set(v, "jit_provisioning_enabled", &d.JITProvisioning)
		management.Set(v, "sso_enforcement", &d.SSOEnforcement)
	} else if v.Has("domain") {
		d.domain.Domain = v.Text("domain")
		if err := checkDomainName(d.domain.Domain); err != nil {
			return err
		}
	}
	return s.claim(e.Tx, d)
}

// claim checks that the domain's name is not claimed by another organization. It deletes an
// unverified claim that is older than domainClaim.
func (s Domains) claim(tx Tx, d *storedDomain) error {
	d.Claimed = management.NewStamp(s.Env.Now())
	r, err := tx.Find(kindDomain, d.domain.Domain)
	if err != nil {
		return err
	}
	holder, err := management.Decode[storedDomain](r)
	switch {
	case err != nil:
		return err
	case holder == nil:
	// The claim is not renewed by other changes of the domain.
	case holder.ID == d.ID:
		d.Claimed = holder.Claimed
	case holder.Verified || s.Env.Now().Sub(holder.Claimed.Time) <= domainClaim:
		return management.CodedFault(management.CodeUnique, "domain", "domain with this domain already exists.")
	default:
		return tx.Delete(kindDomain, r.Parent, r.ID)
	}
	return nil
}

// Verify looks up the domain's TXT record and marks the domain as verified if it contains the
// challenge. Otherwise it returns the domain unchanged. The lookup runs outside of the transaction.
func (s Domains) Verify(ctx context.Context, scope *management.Scope, id string) (*domain, error) {
	if !scope.IsAdmin() {
		return nil, management.Denied(management.MsgLevel)
	}
	d, err := s.Get(ctx, scope, id)
	switch {
	case err != nil:
		return nil, err
	case d.Verified:
		return nil, errVerified()
	case !s.hasChallenge(ctx, d):
		return d, nil
	}
	return resource.RunAction(ctx, s.Resource, scope, id, func(e *resource.Edit[Tx, storedDomain]) error {
		switch current := e.After; {
		case current.Verified:
			return errVerified()
		case current.domain.Domain == d.Domain: // otherwise the name has changed since the lookup
			current.Verified, current.VerifiedAt = true, management.NewStamp(s.Env.Now())
		}
		return nil
	})
}

// errVerified is the error for verifying a domain a second time.
func errVerified() error {
	return management.CodedFault("already_verified", "", "This domain has already been verified.")
}

// hasChallenge reports whether the DNS has the challenge.
func (s Domains) hasChallenge(ctx context.Context, d *domain) bool {
	if s.Resolver == nil {
		return false
	}
	records, err := s.Resolver.TXT(ctx, s.ChallengeHost+"."+d.Domain)
	if err != nil {
		return false
	}
	return slices.Contains(records, d.Challenge)
}
