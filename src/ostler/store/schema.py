"""The metadata that every table hangs on, with names of constraints that all agree on.

`Key` is the type of a generated whole-number primary key. All tables together are in `tables.py`.
"""

from sqlalchemy import BigInteger, Integer, MetaData

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite counts by itself only in a column declared INTEGER PRIMARY KEY; its integers have 64 bits anyway.
Key = BigInteger().with_variant(Integer(), "sqlite")
