-- Hears hints, on a connection of its own.
LISTEN axle_due;
LISTEN axle_slots
