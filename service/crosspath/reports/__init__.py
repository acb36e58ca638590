"""What people read: reports, figures and stories of an evaluation, as pure functions of facts and judgement."""
