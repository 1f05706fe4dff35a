package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/bunting-flags/bunting/adapters/filesource"
	"github.com/bunting-flags/bunting/adapters/sqlstore"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management/organizations"
)

// openDefinitions brings the definitions files into the store, or makes a first
// project where there is none at all. Files are watched until watching ends.
func (p *parts) openDefinitions(ctx, watching context.Context) (err error) {
	if len(p.Definitions) == 0 {
		if _, err := capture.CheckToken(p.APIKey); p.APIKey != "" && err != nil {
			return fmt.Errorf("Options.APIKey: %w", err)
		}
		key, err := p.firstKey()
		if err != nil {
			return err
		}
		_, err = p.store.Bootstrap(ctx, sqlstore.BootstrapConfig{
			OwnerEmail: p.OwnerEmail, APIKey: p.APIKey, PersonalKey: key.Text,
			Show: func(b *sqlstore.BootstrapResult) error { return key.Show(b.PersonalKey) },
		})
		if err != nil {
			return err
		}
		return p.manager.Organizations.Adopt(ctx, organizations.Adoption{Email: p.OwnerEmail})
	}
	err = p.watchDefinitions(func() {
		if err := p.applyFiles(watching); err != nil && watching.Err() == nil {
			p.log.Error("a changed definitions file is not taken into use, its last good state stays", "error", err)
		}
	})
	if err != nil {
		return err
	}
	return p.applyFiles(ctx)
}

// watchDefinitions reads the files, and again when they change.
func (p *parts) watchDefinitions(changed func()) (err error) {
	p.source, err = filesource.Open(filesource.Config{
		Files: p.Definitions, APIKey: p.APIKey, Logger: p.log,
		OnChange: func() {
			p.warnOfKeys()
			if changed == nil {
				p.renew(0)
				return
			}
			changed()
		},
	})
	return err
}

// firstKey is the owner's key as Options.OwnerKey has it.
func (p *parts) firstKey() (OwnerKey, error) {
	if p.OwnerKey != nil {
		return p.OwnerKey()
	}
	return OwnerKey{Show: func(key string) error { p.server.ownerKey.Store(&key); return nil }}, nil
}

// applyFiles makes the store say what the files say.
func (p *parts) applyFiles(ctx context.Context) error {
	p.applying.Lock()
	defer p.applying.Unlock()
	var problems []error
	for _, f := range p.source.Contents() {
		if err := p.store.ApplyFile(ctx, f.Path, f.File, f.Text); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", f.Path, err))
		}
	}
	problems = append(problems, p.adopt(ctx))
	return errors.Join(problems...)
}

// adopt gives the organizations of the files an owner, whose key is shown when it is
// made: at the first start.
func (p *parts) adopt(ctx context.Context) error {
	return p.manager.Organizations.Adopt(ctx, organizations.Adoption{Email: p.OwnerEmail, Key: func() (organizations.FirstKey, error) {
		key, err := p.firstKey()
		return organizations.FirstKey{Text: key.Text, Show: key.Show}, err
	}})
}

// warnOfKeys warns once where more than this machine and private networks can
// use the keys of a file, which are meant for development and tests.
func (p *parts) warnOfKeys() {
	address := p.server.Addr()
	if address == nil || p.source == nil || !IsPublic(address.String()) || !p.source.HasKeys() {
		return
	}
	p.warnOnce.Do(func() {
		p.log.Warn("listening on a public address with personal or secret keys from a file: these are for development and tests", "address", address.String())
	})
}

// IsPublic reports whether others than this machine and private networks reach an
// address, HOST:PORT.
func IsPublic(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err == nil && host == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return true // an empty host is every address, a name may be any
	}
	ip = ip.Unmap()
	return !ip.IsLoopback() && !ip.IsPrivate() && !ip.IsLinkLocalUnicast()
}
