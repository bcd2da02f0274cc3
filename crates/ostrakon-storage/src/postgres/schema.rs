//! The tables: created when they are not there, refused when a later version made them.

use sqlx::{Connection, PgConnection};

use super::connections::Connections;
use super::sql;
use super::trouble::Trouble;
use crate::backend::FORMAT;
use crate::{Head, OpenError, StorageSettings};

/// Any number will do that others do not use for a lock of theirs.
const LOCK: i64 = 0x6f73_7472_616b_6f6e;

/// Leases are updated all the time: room in their pages keeps that cheap.
const TABLES: &str = "
CREATE SCHEMA IF NOT EXISTS ostrakon;
CREATE TABLE ostrakon.format (version integer NOT NULL);
CREATE TABLE ostrakon.clusters (
    name text PRIMARY KEY,
    last bigint NOT NULL DEFAULT 0,
    term bigint NOT NULL DEFAULT 0,
    beat bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE TABLE ostrakon.log (
    cluster text NOT NULL,
    index bigint NOT NULL,
    entry json NOT NULL,
    PRIMARY KEY (cluster, index)
);
CREATE TABLE ostrakon.snapshots (
    cluster text PRIMARY KEY,
    index bigint NOT NULL,
    state json NOT NULL
);
CREATE TABLE ostrakon.leases (
    cluster text NOT NULL,
    incarnation bigint NOT NULL,
    seq bigint NOT NULL,
    ok_seq bigint NOT NULL,
    PRIMARY KEY (cluster, incarnation)
) WITH (fillfactor = 50);
";

/// What is said at the opening of a database.
enum Found {
    Head(Head),
    Format(i32),
    WithoutFsync,
}

/// Makes sure of the tables and the row of the cluster.
pub(super) async fn open(
    connections: &Connections,
    place: &str,
    cluster: &str,
    settings: StorageSettings,
) -> Result<Head, OpenError> {
    let place = place.to_owned();
    match look(connections, cluster, settings).await {
        Ok(Found::Head(head)) => Ok(head),
        Ok(Found::Format(found)) => Err(OpenError::NewerFormat {
            place,
            found: found.cast_unsigned(),
            known: FORMAT,
        }),
        Ok(Found::WithoutFsync) => Err(OpenError::NotDurable {
            place,
            reason: "its setting fsync is off: a crash of its host takes what was written last; set it on".to_owned(),
        }),
        Err(trouble) if trouble.is_denial() => Err(OpenError::Denied {
            place,
            source: trouble.into(),
        }),
        Err(trouble) => Err(OpenError::Unavailable {
            place,
            source: trouble.into(),
        }),
    }
}

async fn look(
    connections: &Connections,
    cluster: &str,
    settings: StorageSettings,
) -> Result<Found, Trouble> {
    let mut lent = connections.get().await?;
    let fsync = sqlx::query_scalar("SELECT current_setting('fsync')::boolean");
    let is_durable: bool = fsync.fetch_one(&mut *lent).await?;
    if !is_durable && !settings.accept_loss {
        return Ok(Found::WithoutFsync);
    }
    let format = match format(&mut lent).await? {
        Some(format) => format,
        None => create(&mut lent).await?,
    };
    if format != FORMAT.cast_signed() {
        return Ok(Found::Format(format));
    }
    sqlx::query("INSERT INTO ostrakon.clusters (name) VALUES ($1) ON CONFLICT DO NOTHING")
        .bind(cluster)
        .execute(&mut *lent)
        .await?;
    let head = sql::head(&mut lent, cluster).await?;
    lent.give_back();
    Ok(Found::Head(head))
}

/// Looking first keeps those working who may use the tables but not create them. The catalog is asked as a table, because a look by name
/// may be answered from a cache that does not know yet what another has created.
async fn format(connection: &mut PgConnection) -> Result<Option<i32>, Trouble> {
    let exists = sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_tables
                        WHERE schemaname = 'ostrakon' AND tablename = 'format')",
    );
    if !exists.fetch_one(&mut *connection).await? {
        return Ok(None);
    }
    let version = sqlx::query_scalar("SELECT version FROM ostrakon.format");
    Ok(version.fetch_optional(connection).await?)
}

/// Several managers may begin at once: one creates, the others find it done.
async fn create(connection: &mut PgConnection) -> Result<i32, Trouble> {
    let mut transaction = connection.begin().await?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(LOCK)
        .execute(&mut *transaction)
        .await?;
    if let Some(format) = format(&mut transaction).await? {
        return Ok(format);
    }
    sqlx::raw_sql(TABLES).execute(&mut *transaction).await?;
    sqlx::query("INSERT INTO ostrakon.format VALUES ($1)")
        .bind(FORMAT.cast_signed())
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(FORMAT.cast_signed())
}
