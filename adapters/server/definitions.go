package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/bunting-flags/bunting/adapters/filesource"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management/organizations"
)

// openDefinitions applies the definitions files to the store, or creates a first project if the
// store is empty and there are no files. The files are watched until the watching context ends.
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
			p.log.Error("a changed definitions file is invalid, its last valid version stays in use", "error", err)
		}
	})
	if err != nil {
		return err
	}
	return p.applyFiles(ctx)
}

// watchDefinitions reads the files, and reads them again when they change. If changed is nil,
// changes take effect without a store.
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

// firstKey returns the owner's key that Options.OwnerKey returns. If that is nil, the new key is
// available from Server.OwnerKey.
func (p *parts) firstKey() (OwnerKey, error) {
	if p.OwnerKey != nil {
		return p.OwnerKey()
	}
	return OwnerKey{Show: func(key string) error { p.server.ownerKey.Store(&key); return nil }}, nil
}

// applyFiles updates the store to the contents of the files.
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

// adopt assigns an owner to the organizations of the files. At the first start it creates the
// owner's key and shows it.
func (p *parts) adopt(ctx context.Context) error {
	return p.manager.Organizations.Adopt(ctx, organizations.Adoption{Email: p.OwnerEmail, Key: func() (string, func(string) error, error) {
		key, err := p.firstKey()
		return key.Text, key.Show, err
	}})
}

// warnOfKeys logs one warning if the keys of a file, which are meant for development and tests, can
// be used from outside of this machine and private networks.
func (p *parts) warnOfKeys() {
	address := p.server.Addr()
	if address == nil || p.source == nil || !IsPublic(address.String()) || !p.source.HasKeys() {
		return
	}
	p.warnOnce.Do(func() {
		p.log.Warn("listening on a public address with personal or secret keys from a file, which are meant for development and tests", "address", address.String())
	})
}

// IsPublic reports whether an address, HOST:PORT, can be reached from outside of this machine and
// private networks.
func IsPublic(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err == nil && host == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return true // an empty host is every address, and a name may resolve to any
	}
	ip = ip.Unmap()
	return !ip.IsLoopback() && !ip.IsPrivate() && !ip.IsLinkLocalUnicast()
}
