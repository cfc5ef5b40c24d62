package boot

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"eruptcloud/app/access"
	"eruptcloud/app/cluster"
	"eruptcloud/app/config"
	"eruptcloud/app/database"
	"eruptcloud/app/dict"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
)

// Domain is what commands need that work on the database, also beside a running server.
type Domain struct {
	DB     *database.DB
	Fleet  *fleet.Fleet
	Access *access.Access
	Dicts  *dict.Dicts
}

// OpenDomain opens the database, migrated if the configuration says so, and the repositories on it. Its errors are ErrDatabase.
func OpenDomain(ctx context.Context, c *config.Config) (*Domain, error) {
	keys, err := keysOf(c)
	if err != nil {
		return nil, err
	}
	db, err := openDatabase(ctx, c)
	if err != nil {
		return nil, err
	}
	d, err := newDomain(c, db, keys, cluster.NewSolo("command"), stores{}, nil)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return d, nil
}

// Close closes the database.
func (d *Domain) Close() error { return d.DB.Close() }

func newDomain(c *config.Config, db *database.DB, keys secrets, bus cluster.Bus, kept stores, metrics prometheus.Registerer) (*Domain, error) {
	sealer, err := sealerOf(db, keys)
	if err != nil {
		return nil, err
	}
	return &Domain{
		DB:    db,
		Dicts: dict.New(dict.Options{DB: db}),
		Fleet: fleet.New(fleet.Options{
			DB: db, Bus: bus, Sealer: sealer, ValidateToken: c.CloudServer.ValidateAccessToken,
			Grace: c.CloudServer.TokenGrace,
		}),
		Access: access.New(access.Options{
			DB: db, Store: kept.sessions, Bus: bus, Key: keys.Delegate, TTL: c.Session.TTL, Refresh: c.Session.Refresh,
			Lock:               access.LockOptions{On: c.Login.Lock, MaxFailures: c.Login.MaxFailures, Minutes: c.Login.LockMinutes},
			PwdTransferEncrypt: c.Login.PwdTransferEncrypt, Rehash: c.Login.Rehash, Metrics: metrics,
			Vault: kept.vault, CaptchaAfter: c.Login.CaptchaAfter,
			MFA: access.MFAOptions{On: c.Login.MFA, Issuer: c.Login.MFAIssuer, Window: c.Login.MFAWindow},
		}),
	}, nil
}

func keysOf(c *config.Config) (secrets, error) {
	session := ""
	if len(c.Session.Keys) > 0 {
		session = c.Session.Keys[0]
	}
	return loadSecrets(c.Server.DataDir, session, c.Secrets.TokenKey)
}

func databaseOptions(c *config.Config) database.Options {
	o := database.Options{Driver: c.Database.Driver, DSN: c.Database.DSN}
	if o.Driver == "sqlite" {
		o.DSN = c.SQLitePath()
	}
	if c.Database.TimeZone != "" {
		if zone, err := time.LoadLocation(c.Database.TimeZone); err == nil { // validated
			o.Zone = zone
		}
	}
	return o
}

func openDatabase(ctx context.Context, c *config.Config) (*database.DB, error) {
	if c.Database.Driver == "sqlite" {
		if err := os.MkdirAll(c.Server.DataDir, 0o700); err != nil {
			return nil, databaseError(err)
		}
	}
	db, err := database.Open(ctx, databaseOptions(c))
	if err != nil {
		return nil, databaseError(err)
	}
	if c.MigrateAtStart() {
		_, err = database.Migrate(ctx, db)
	} else {
		err = database.CheckVersion(ctx, db)
	}
	if err != nil {
		return nil, databaseError(errors.Join(err, db.Close()))
	}
	return db, nil
}

// EnsureAdmin creates an administrator, or opens an existing account as one, with the password, or with a generated one
// that it returns if the password is empty.
func (d *Domain) EnsureAdmin(ctx context.Context, account, password string) (generated string, err error) {
	if password == "" {
		password = rand.Text()[:20]
		generated = password
	}
	yes := true
	_, err = d.Access.Users.Update(ctx, account, access.UserPatch{Password: &password, Enabled: &yes, Admin: &yes, By: access.System})
	if fault.Is(err, fault.NotFound) {
		_, err = d.Access.Users.Create(ctx, access.NewUser{
			Account: account, Name: account, Password: password, Enabled: true, Admin: true, By: access.System,
		})
	}
	if err != nil {
		return "", err
	}
	return generated, nil
}

// LocalURL returns where a server with this configuration answers on this machine.
func LocalURL(c *config.Config) string {
	return urlOf(c, c.Server.Listen)
}

func urlOf(c *config.Config, listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "localhost"
	}
	scheme := "http"
	if c.Server.TLSCert != "" {
		scheme = "https"
	}
	return fmt.Sprintf("%s://%s%s", scheme, net.JoinHostPort(host, port), c.Server.BasePath)
}
