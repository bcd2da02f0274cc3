//! Every statement there is, but those that append or create tables.
//!
//! The database has signed numbers only; ours are put into them bit by bit, and compared there only where counting began at zero.

use ostrakon_core::{Incarnation, Index, Term};
use sqlx::postgres::PgRow;
use sqlx::{Connection, PgConnection, PgExecutor, Row};

use super::trouble::Trouble;
use crate::backend::{Compaction, Found, MOST_BYTES_READ, MOST_READ};
use crate::{Head, Renewal, Renewed};

/// In one statement, so that a compaction meanwhile does not leave a gap.
pub(super) async fn read(
    connection: &mut PgConnection,
    cluster: &str,
    behind: Index,
) -> Result<Found, Trouble> {
    let rows = sqlx::query(
        "WITH part AS (
             SELECT index, entry, octet_length(entry::text) AS bytes FROM ostrakon.log
             WHERE cluster = $1 AND index > $2 ORDER BY index LIMIT $3
         ), summed AS (
             SELECT index, entry, sum(bytes) OVER (ORDER BY index) - bytes AS before FROM part
         )
         SELECT 0 AS kind, last AS index, '' AS text FROM ostrakon.clusters WHERE name = $1
         UNION ALL
         SELECT 1, index, state::text FROM ostrakon.snapshots WHERE cluster = $1 AND index > $2
         UNION ALL
         SELECT 2, index, entry::text FROM summed WHERE before <= $4
         ORDER BY kind, index",
    )
    .bind(cluster)
    .bind(behind.get().cast_signed())
    .bind(MOST_READ as i64)
    .bind(MOST_BYTES_READ as i64)
    .fetch_all(connection)
    .await?;
    let mut found = Found::default();
    for row in rows {
        let index = Index::new(row.try_get::<i64, _>("index")?.cast_unsigned());
        let text = row.try_get("text")?;
        match row.try_get("kind")? {
            0 => found.last = index,
            1 => found.snapshot = Some(text),
            _ => found.entries.push((index, text)),
        }
    }
    Ok(found)
}

pub(super) async fn head(connection: &mut PgConnection, cluster: &str) -> Result<Head, Trouble> {
    let head = sqlx::query("SELECT last, term, beat FROM ostrakon.clusters WHERE name = $1");
    let head = head.bind(cluster).try_map(|row: PgRow| {
        Ok(Head {
            last: Index::new(number(&row, "last")?),
            term: Term::new(number(&row, "term")?),
            beat: number(&row, "beat")?,
        })
    });
    Ok(head.fetch_one(connection).await?)
}

/// The last index alone.
pub(super) async fn last(
    connection: impl PgExecutor<'_>,
    cluster: &str,
) -> Result<Index, sqlx::Error> {
    let last = sqlx::query_scalar("SELECT last FROM ostrakon.clusters WHERE name = $1");
    let last: i64 = last.bind(cluster).fetch_one(connection).await?;
    Ok(Index::new(last.cast_unsigned()))
}

pub(super) async fn beat(
    connection: &mut PgConnection,
    cluster: &str,
    term: Term,
    count: u64,
) -> Result<(), Trouble> {
    sqlx::query("UPDATE ostrakon.clusters SET beat = $3 WHERE name = $1 AND term = $2")
        .bind(cluster)
        .bind(term.get().cast_signed())
        .bind(count.cast_signed())
        .execute(connection)
        .await?;
    Ok(())
}

/// Where the log ends: before the snapshot, nothing was done.
pub(super) async fn compact(
    connection: &mut PgConnection,
    cluster: &str,
    compaction: &Compaction,
) -> Result<Index, Trouble> {
    let mut transaction = connection.begin().await?;
    let last = last(&mut *transaction, cluster).await?;
    let index = compaction.index.get().cast_signed();
    if compaction.index > last {
        transaction.rollback().await?;
        return Ok(last);
    }
    let replaced = sqlx::query(
        "INSERT INTO ostrakon.snapshots AS present VALUES ($1, $2, $3::json)
         ON CONFLICT (cluster) DO UPDATE SET index = excluded.index, state = excluded.state
         WHERE present.index < excluded.index",
    );
    let replaced = replaced.bind(cluster).bind(index).bind(&compaction.text);
    if replaced.execute(&mut *transaction).await?.rows_affected() > 0 {
        sqlx::query("DELETE FROM ostrakon.log WHERE cluster = $1 AND index <= $2")
            .bind(cluster)
            .bind(index)
            .execute(&mut *transaction)
            .await?;
        sqlx::query(
            "DELETE FROM ostrakon.leases
             WHERE cluster = $1 AND incarnation <= $2 AND incarnation <> ALL($3)",
        )
        .bind(cluster)
        .bind(index)
        .bind(numbers(compaction.members()))
        .execute(&mut *transaction)
        .await?;
    }
    transaction.commit().await?;
    Ok(last)
}

pub(super) async fn renew(
    connection: &mut PgConnection,
    cluster: &str,
    incarnation: Incarnation,
    renewal: Renewal,
) -> Result<Renewed, Trouble> {
    let renewed = sqlx::query(
        "UPDATE ostrakon.leases
         SET seq = greatest(seq, $3), ok_seq = CASE WHEN seq < $3 THEN $4 ELSE ok_seq END
         WHERE cluster = $1 AND incarnation = $2",
    )
    .bind(cluster)
    .bind(incarnation.get().cast_signed())
    .bind(renewal.seq.cast_signed())
    .bind(renewal.ok_seq.cast_signed())
    .execute(connection)
    .await?;
    Ok(match renewed.rows_affected() {
        0 => Renewed::Ended,
        _ => Renewed::Counted,
    })
}

pub(super) async fn leases(
    connection: &mut PgConnection,
    cluster: &str,
) -> Result<Vec<(Incarnation, Renewal)>, Trouble> {
    let leases = sqlx::query(
        "SELECT incarnation, seq, ok_seq FROM ostrakon.leases WHERE cluster = $1 ORDER BY incarnation",
    );
    Ok(leases
        .bind(cluster)
        .try_map(lease)
        .fetch_all(connection)
        .await?)
}

pub(super) fn lease(row: PgRow) -> Result<(Incarnation, Renewal), sqlx::Error> {
    let (seq, ok_seq) = (number(&row, "seq")?, number(&row, "ok_seq")?);
    let incarnation = Incarnation::new(number(&row, "incarnation")?);
    Ok((incarnation, Renewal { seq, ok_seq }))
}

fn number(row: &PgRow, name: &str) -> Result<u64, sqlx::Error> {
    Ok(row.try_get::<i64, _>(name)?.cast_unsigned())
}

pub(super) fn numbers(runs: impl Iterator<Item = Incarnation>) -> Vec<i64> {
    runs.map(|run| run.get().cast_signed()).collect()
}
