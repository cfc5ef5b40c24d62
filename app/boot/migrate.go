package boot

import (
	"context"
	"errors"
	"log/slog"

	"eruptcloud/app/config"
	"eruptcloud/app/database"
	"eruptcloud/app/fleet"
)

// Migrate applies pending migrations and returns their names; with adopt also beside the tables of an erupt installation.
// Its errors are ErrDatabase, as those of the others here.
func Migrate(ctx context.Context, c *config.Config, adopt bool) (applied []string, err error) {
	err = onDatabase(ctx, c, func(db *database.DB) error {
		if adopt {
			applied, err = database.Adopt(ctx, db)
		} else {
			applied, err = database.Migrate(ctx, db)
		}
		return err
	})
	return applied, err
}

// PlanMigration returns what Migrate would do.
func PlanMigration(ctx context.Context, c *config.Config, adopt bool) (plan database.Plan, err error) {
	err = onDatabase(ctx, c, func(db *database.DB) error {
		plan, err = database.Planned(ctx, db, adopt)
		return err
	})
	return plan, err
}

// Leave drops what was made in an adopted database, see database.Leave.
func Leave(ctx context.Context, c *config.Config) (dropped, kept []string, err error) {
	err = onDatabase(ctx, c, func(db *database.DB) error {
		dropped, kept, err = database.Leave(ctx, db)
		return err
	})
	return dropped, kept, err
}

func onDatabase(ctx context.Context, c *config.Config, work func(*database.DB) error) error {
	db, err := database.Open(ctx, databaseOptions(c))
	if err != nil {
		return databaseError(err)
	}
	if err := errors.Join(work(db), db.Close()); err != nil {
		return databaseError(err)
	}
	return nil
}

// sealerOf is what keeps access tokens: nothing in an adopted database, where a Java server reads the same column.
func sealerOf(db *database.DB, keys secrets) (fleet.Sealer, error) {
	if db.Shape.Adopted {
		return nil, nil
	}
	return fleet.NewSealer(keys.Token)
}

// sayAdopted logs what a database of erupt's means for the server.
func sayAdopted(log *slog.Logger, shape database.Shape) {
	if !shape.Adopted {
		return
	}
	log.Info("works on an adopted database of erupt", "generation", shape.Generation, "absent columns", shape.Missing)
	if shape.Lacks("e_upms_user", "salt") || shape.Lacks("e_upms_user", "encrypt_type") {
		log.Warn("new passwords are kept as MD5 without salt: the tables are of erupt 1.12 and hold nothing else; they can be guessed by whoever reads the database. Erupt 2.0 or later adds the columns for SHA512")
	}
}
