//! An append, statement by statement.
//!
//! Everything happens in one transaction, and nothing of it counts before its commit: until that has been sent, whatever goes wrong has
//! surely written nothing.

use ostrakon_core::{Incarnation, Index};
use sqlx::PgConnection;

use super::listener::CHANNEL;
use super::sql::{lease, numbers};
use super::trouble::{Refused, Trouble};
use crate::backend::Batch;
use crate::{Append, Renewal};

pub(super) async fn begin(connection: &mut PgConnection) -> Result<(), Trouble> {
    sqlx::raw_sql("BEGIN").execute(connection).await?;
    Ok(())
}

pub(super) async fn rollback(connection: &mut PgConnection) -> Result<(), Trouble> {
    sqlx::raw_sql("ROLLBACK").execute(connection).await?;
    Ok(())
}

pub(super) async fn commit(connection: &mut PgConnection) -> Result<(), Trouble> {
    sqlx::raw_sql("COMMIT").execute(connection).await?;
    Ok(())
}

/// Within a transaction: the entries, the end of the log, leases and the news.
pub(super) async fn stage(
    connection: &mut PgConnection,
    cluster: &str,
    append: &Append<'_>,
    batch: &Batch,
) -> Result<(), Refused> {
    move_end(connection, cluster, append.after, batch).await?;
    insert(connection, cluster, batch).await?;
    check_unmoved(connection, cluster, append.unmoved).await?;
    move_leases(connection, cluster, batch).await?;
    // Delivered with the commit, and not without it.
    sqlx::query("SELECT pg_notify($1, $2)")
        .bind(CHANNEL)
        .bind(format!("{cluster} {}", batch.last.get()))
        .execute(connection)
        .await?;
    Ok(())
}

/// Whoever is second waits here for the first, and then finds another end.
async fn move_end(
    connection: &mut PgConnection,
    cluster: &str,
    after: Index,
    batch: &Batch,
) -> Result<(), Refused> {
    let moved = sqlx::query(
        "UPDATE ostrakon.clusters
         SET last = $3, term = coalesce($4, term), beat = CASE WHEN $4 IS NULL THEN beat ELSE 0 END
         WHERE name = $1 AND last = $2",
    )
    .bind(cluster)
    .bind(after.get().cast_signed())
    .bind(batch.last.get().cast_signed())
    .bind(batch.term.map(|term| term.get().cast_signed()))
    .execute(connection)
    .await?;
    match moved.rows_affected() {
        0 => Err(Refused::Conflict),
        _ => Ok(()),
    }
}

async fn insert(
    connection: &mut PgConnection,
    cluster: &str,
    batch: &Batch,
) -> Result<(), Refused> {
    let (indexes, texts): (Vec<i64>, Vec<&str>) = batch
        .entries
        .iter()
        .map(|(index, text)| (index.get().cast_signed(), text.as_str()))
        .unzip();
    let inserted = sqlx::query(
        "INSERT INTO ostrakon.log (cluster, index, entry)
         SELECT $1, index, entry::json FROM unnest($2::bigint[], $3::text[]) AS new (index, entry)",
    )
    .bind(cluster)
    .bind(indexes)
    .bind(texts)
    .execute(connection)
    .await;
    match inserted.map_err(Trouble::from) {
        Ok(_) => Ok(()),
        Err(trouble) if trouble.is_duplicate() => Err(Refused::Conflict),
        Err(trouble) => Err(Refused::Failed(trouble)),
    }
}

/// A renewal on its way is waited for, and one that comes later waits for us.
async fn check_unmoved(
    connection: &mut PgConnection,
    cluster: &str,
    unmoved: &[(Incarnation, Renewal)],
) -> Result<(), Refused> {
    if unmoved.is_empty() {
        return Ok(());
    }
    let present: Vec<(Incarnation, Renewal)> = sqlx::query(
        "SELECT incarnation, seq, ok_seq FROM ostrakon.leases
         WHERE cluster = $1 AND incarnation = ANY($2) FOR UPDATE",
    )
    .bind(cluster)
    .bind(numbers(unmoved.iter().map(|(incarnation, _)| *incarnation)))
    .try_map(lease)
    .fetch_all(connection)
    .await?;
    match unmoved.iter().find(|seen| !present.contains(seen)) {
        Some((incarnation, _)) => Err(Refused::Renewed(*incarnation)),
        None => Ok(()),
    }
}

async fn move_leases(
    connection: &mut PgConnection,
    cluster: &str,
    batch: &Batch,
) -> Result<(), Trouble> {
    if !batch.begun.is_empty() {
        sqlx::query("INSERT INTO ostrakon.leases SELECT $1, unnest($2::bigint[]), 0, 0")
            .bind(cluster)
            .bind(numbers(batch.begun.iter().copied()))
            .execute(&mut *connection)
            .await?;
    }
    if !batch.ended.is_empty() {
        sqlx::query("DELETE FROM ostrakon.leases WHERE cluster = $1 AND incarnation = ANY($2)")
            .bind(cluster)
            .bind(numbers(batch.ended.iter().copied()))
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
